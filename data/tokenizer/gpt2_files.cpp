#include "core/escape.hpp"
#include "core/fail.hpp"
#include "data/detail/text_file.hpp"
#include "data/tokenizer/detail/byte_level.hpp"
#include "data/tokenizer/detail/formats.hpp"

#include <nlohmann/json.hpp>

namespace troupe::data {

namespace {

/// Removes the next line from the text and returns it without its line end.
std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  auto line = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  return line;
}

Status read_merges(const std::filesystem::path& path, TokenizerParts& parts) {
  TROUPE_TRY(const auto text, read_text(path));
  std::string_view rest = text;
  std::size_t rank = 0;
  for (int number = 1; !rest.empty(); ++number) {
    const auto line = take_line(rest);
    if (line.empty() || (number == 1 && line.starts_with("#version")))
      continue;
    if (auto added = add_merge(line, parts, rank++); !added)
      return fail(Errc::data, "{}:{}: {}", echoed(path.string()), number, added.error().message);
  }
  return {};
}

} // namespace

Result<TokenizerParts> read_gpt2(const std::filesystem::path& vocabulary,
                                 const nlohmann::json& tokens, const std::filesystem::path& merges,
                                 SplitRule split) {
  TokenizerParts parts{.split = split};
  TROUPE_TRY(in_file(vocabulary, add_vocabulary(tokens, parts.vocabulary)));
  TROUPE_TRY(read_merges(merges, parts));
  parts.end_of_document = parts.vocabulary.find("<|endoftext|>");
  return parts;
}

} // namespace troupe::data
