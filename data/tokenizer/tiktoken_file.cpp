#include "core/base64.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/whole_number.hpp"
#include "data/detail/text_file.hpp"
#include "data/tokenizer/detail/formats.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace troupe::data {

namespace {

constexpr std::size_t longest_token = 1024;

/// Values that tiktoken stores outside the file (tiktoken_ext/openai_public.py).
struct KnownRanks {
  std::string_view name;
  SplitRule split;
  TokenId end_of_document;
};
constexpr std::array known_ranks = {
    KnownRanks{"r50k_base", SplitRule::gpt2, 50256},
    KnownRanks{"p50k_base", SplitRule::gpt2, 50256},
    KnownRanks{"cl100k_base", SplitRule::cl100k, 100257},
};

Status add_rank(std::string_view line, Vocabulary& vocabulary) {
  const auto space = std::min(line.find(' '), line.size());
  const auto bytes = from_base64(line.substr(0, space));
  const auto rank = read_whole_number<std::int64_t>(line.substr(std::min(space + 1, line.size())));
  if (!bytes || bytes->empty() || bytes->size() > longest_token || !rank)
    return fail(Errc::data, "{} is not a token of 1 to {} bytes in base64 and its rank",
                echoed(line), longest_token);
  return vocabulary.add(*rank, *bytes);
}

Status read_ranks(const std::filesystem::path& path, Vocabulary& vocabulary) {
  TROUPE_TRY(const auto text, read_text(path));
  int number = 0;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = std::string_view{text}.substr(at, end - at);
    at = end + 1;
    if (line.empty())
      continue;
    if (auto added = add_rank(line, vocabulary); !added)
      return fail(Errc::data, "{}:{}: {}", echoed(path.string()), number + 1,
                  added.error().message);
  }
  return {};
}

/// Returns the tokens of two bytes or more, the shortest first.
std::vector<TokenId> merged_tokens(const Vocabulary& vocabulary) {
  std::vector<TokenId> ids;
  for (TokenId id = 0; id < vocabulary.size(); ++id)
    if (const auto* const token = vocabulary.bytes(id); token && token->size() > 1)
      ids.push_back(id);
  std::ranges::stable_sort(ids, {}, [&](TokenId id) { return vocabulary.bytes(id)->size(); });
  return ids;
}

/// Adds the merges that a file of ranks implies. tiktoken merges any two neighbours whose
/// concatenation is a token, in the order of rank. A token determines its two parts: before they
/// merge, no merge crosses the token's ends, so merging inside it equals merging the token by
/// itself, with merges of shorter tokens. So one merge per token suffices; a token has none if
/// these merges leave more than two parts.
Status add_merges(TokenizerParts& parts) {
  WordMerger merger;
  std::vector<TokenId> left;
  for (const auto id : merged_tokens(parts.vocabulary)) {
    left.clear();
    for (const char byte : *parts.vocabulary.bytes(id)) {
      TROUPE_TRY(left.emplace_back(), parts.vocabulary.of_byte(static_cast<unsigned char>(byte)));
    }
    merger.merge(parts.merges, left);
    if (left.size() == 2)
      parts.merges.add({left[0], left[1], id, id});
  }
  return {};
}

} // namespace

Result<TokenizerParts> read_tiktoken(const std::filesystem::path& path, TokenizerSplit split) {
  const auto* const known = std::ranges::find(known_ranks, path.stem().string(), &KnownRanks::name);
  if (split == TokenizerSplit::automatic && known == known_ranks.end())
    return fail(
        Errc::data,
        "{}: a .tiktoken file does not define how texts are split into words, and its name is not "
        "r50k_base, p50k_base or cl100k_base; set data.tokenizer's split (--split) to gpt2 or "
        "cl100k",
        echoed(path.string()));
  TokenizerParts parts{.split = split == TokenizerSplit::gpt2 ? SplitRule::gpt2 : SplitRule::cl100k,
                       .whole_words = true};
  TROUPE_TRY(read_ranks(path, parts.vocabulary));
  TROUPE_TRY(in_file(path, add_merges(parts)));
  if (known == known_ranks.end())
    return parts;
  parts.split = split == TokenizerSplit::automatic ? known->split : parts.split;
  TROUPE_TRY(in_file(path, parts.vocabulary.add_special(known->end_of_document, "<|endoftext|>")));
  parts.end_of_document = known->end_of_document;
  return parts;
}

} // namespace troupe::data
