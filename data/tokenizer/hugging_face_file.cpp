#include "core/escape.hpp"
#include "core/fail.hpp"
#include "data/detail/text_file.hpp"
#include "data/tokenizer/detail/byte_level.hpp"
#include "data/tokenizer/detail/formats.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <utility>
#include <vector>

namespace troupe::data {

namespace {

using Json = nlohmann::json;

constexpr std::size_t most_added = 16384;

/// Same order as in TokenizerParts::added.
using AddedLists = std::array<std::vector<AddedTokens::Token>, 2>;

/// Returns the member, or null if it is missing.
const Json& member(const Json& object, const char* key) {
  static const Json none;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : none;
}

std::string text_of(const Json& json) {
  return json.is_string() ? json.get<std::string>() : std::string{};
}

bool is_true(const Json& json) {
  return json.is_boolean() && json.get<bool>();
}

std::string shown(const Json& json) {
  return echoed(json.dump(-1, ' ', false, Json::error_handler_t::replace), 60);
}

tl::unexpected<Error> cannot(std::string_view what, const Json& value, std::string_view allowed) {
  return fail(Errc::data, "{} is {}, which troupe does not support; supported: {}", what,
              shown(value), allowed);
}

/// Refuses options that change tokens, unless their value has no effect.
Status check_model(const Json& model) {
  if (const auto& type = member(model, "type"); !type.is_null() && type != "BPE")
    return cannot("model.type", type, "BPE");
  for (const auto* const key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (const auto& value = member(model, key); !value.is_null() && value != "")
      return cannot(fmt::format("model.{}", key), value, "none");
  if (const auto& dropout = member(model, "dropout"); !dropout.is_null() && dropout != 0)
    return cannot("model.dropout", dropout, "null");
  if (const auto& fallback = member(model, "byte_fallback"); is_true(fallback))
    return cannot("model.byte_fallback", fallback, "false");
  return {};
}

Status check_byte_level(const Json& json, bool uses_expression) {
  if (member(json, "type") != "ByteLevel")
    return cannot("pre_tokenizer", json, "ByteLevel, or a Split and then ByteLevel");
  if (is_true(member(json, "add_prefix_space")))
    return cannot("pre_tokenizer.add_prefix_space", true, "false");
  if (const auto& uses = member(json, "use_regex");
      uses.is_null() ? !uses_expression : uses != uses_expression)
    return cannot("pre_tokenizer.use_regex", uses,
                  "true if ByteLevel is the only step, false after a Split");
  return {};
}

Result<SplitRule> rule_of_split(const Json& json) {
  if (member(json, "type") != "Split" || member(json, "behavior") != "Isolated" ||
      is_true(member(json, "invert")))
    return cannot("pre_tokenizer", json, "a Split that is Isolated and not inverted");
  const auto& expression = member(member(json, "pattern"), "Regex");
  const auto rule = rule_of(text_of(expression));
  if (!rule)
    return cannot("the regular expression of pre_tokenizer's Split", expression,
                  "exactly those of gpt2 and cl100k");
  return *rule;
}

/// Returns the steps of a normalizer or pre-tokenizer: those of a Sequence, or the step itself.
std::vector<Json> steps_of(const Json& json, const char* list) {
  const auto& steps = member(json, list);
  if (member(json, "type") != "Sequence" || !steps.is_array())
    return {json};
  return {steps.begin(), steps.end()};
}

Result<SplitRule> read_split(const Json& json) {
  const auto steps = steps_of(json, "pretokenizers");
  if (steps.size() == 1) {
    TROUPE_TRY(check_byte_level(steps.front(), true));
    return SplitRule::gpt2;
  }
  if (steps.size() != 2)
    return cannot("pre_tokenizer.pretokenizers", member(json, "pretokenizers"),
                  "ByteLevel, or a Split and then ByteLevel");
  TROUPE_TRY(check_byte_level(steps[1], false));
  return rule_of_split(steps[0]);
}

/// Accepts no normalizer, or an empty Sequence.
Status check_normalizer(const Json& json) {
  if (json.is_null() || steps_of(json, "normalizers").empty())
    return {};
  return cannot("normalizer", json, "null, or an empty Sequence");
}

Status add_json_merge(const Json& merge, TokenizerParts& parts, std::size_t rank) {
  if (merge.is_string())
    return add_merge(merge.get<std::string>(), parts, rank);
  if (!merge.is_array() || merge.size() != 2 || !merge[0].is_string() || !merge[1].is_string())
    return fail(Errc::data, "{} is not two tokens", shown(merge));
  return add_merge(merge[0].get<std::string>(), merge[1].get<std::string>(), parts, rank);
}

Status add_merges(const Json& merges, TokenizerParts& parts) {
  if (!merges.is_array())
    return fail(Errc::data, "model.merges is not a list");
  for (std::size_t rank = 0; rank < merges.size(); ++rank)
    if (auto added = add_json_merge(merges[rank], parts, rank); !added)
      return fail(Errc::data, "model.merges[{}]: {}", rank, added.error().message);
  return {};
}

Status add_added(const Json& json, TokenizerParts& parts, AddedLists& lists) {
  const auto text = text_of(member(json, "content"));
  const auto& number = member(json, "id");
  if (text.empty() || !number.is_number_integer())
    return fail(Errc::data, "{} has no content or no id", shown(json));
  if (text.size() > AddedTokens::longest)
    return fail(Errc::data, "token {} has {} bytes, but added tokens have at most {}",
                echoed(text, 60), text.size(), AddedTokens::longest);
  for (const auto* const key : {"single_word", "lstrip", "rstrip"})
    if (is_true(member(json, key)))
      return cannot(fmt::format("{} of token {}", key, echoed(text)), true, "false");
  if (last_cut(text) > 0) // long texts are cut there before added tokens are found
    return cannot("an added token", text, "tokens without a line end after a letter or digit");
  const auto id = number.get<std::int64_t>();
  const auto* const there = parts.vocabulary.bytes(id);
  if (!there)
    TROUPE_TRY(parts.vocabulary.add_special(id, text));
  else if (*there != text && *there != bytes_of_characters(text).value_or(text))
    return fail(Errc::data, "tokens {} and {} both have the id {}", echoed(*there), echoed(text),
                id);
  lists[is_true(member(json, "normalized")) ? 1 : 0].push_back({text, static_cast<TokenId>(id)});
  return {};
}

Status add_all_added(const Json& list, TokenizerParts& parts) {
  if (list.is_null())
    return {};
  if (!list.is_array() || list.size() > most_added)
    return fail(Errc::data, "added_tokens is not a list of at most {} tokens", most_added);
  AddedLists lists;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (auto added = add_added(list[i], parts, lists); !added)
      return fail(Errc::data, "added_tokens[{}]: {}", i, added.error().message);
  for (std::size_t i = 0; i < lists.size(); ++i)
    parts.added[i] = AddedTokens{std::move(lists[i])};
  return {};
}

/// Returns the end of document: the first of its common names that exists.
std::optional<TokenId> find_end(const TokenizerParts& parts) {
  for (const std::string_view name : {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"})
    for (const auto& set : parts.added)
      for (const auto& token : set.all())
        if (token.text == name)
          return token.id;
  return parts.vocabulary.find("<|endoftext|>");
}

Status read_parts(const Json& root, TokenizerParts& parts) {
  const auto& model = member(root, "model");
  TROUPE_TRY(check_model(model));
  TROUPE_TRY(check_normalizer(member(root, "normalizer")));
  TROUPE_TRY(parts.split, read_split(member(root, "pre_tokenizer")));
  parts.whole_words = is_true(member(model, "ignore_merges"));
  TROUPE_TRY(add_vocabulary(member(model, "vocab"), parts.vocabulary));
  TROUPE_TRY(add_merges(member(model, "merges"), parts));
  TROUPE_TRY(add_all_added(member(root, "added_tokens"), parts));
  parts.end_of_document = find_end(parts);
  return {};
}

} // namespace

Result<TokenizerParts> read_hugging_face(const std::filesystem::path& path, const Json& root) {
  TokenizerParts parts;
  TROUPE_TRY(in_file(path, read_parts(root, parts)));
  return parts;
}

} // namespace troupe::data
