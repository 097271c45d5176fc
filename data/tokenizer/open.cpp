#include "open.hpp"

#include "../detail/text_file.hpp"
#include "detail/formats.hpp"

#include "troupe/core/config/data_sets.hpp"
#include "troupe/core/fail.hpp"
#include "troupe/core/printable.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <filesystem>
#include <utility>

namespace troupe::data {

namespace {

namespace fs = std::filesystem;

using Names = std::pair<const char*, const char*>;
constexpr std::array gpt2_names = {Names{"vocab.json", "merges.txt"},
                                   Names{"encoder.json", "vocab.bpe"}};

/// One for each byte; the end of documents comes behind them.
Result<TokenizerParts> byte_tokens() {
  TokenizerParts parts{.split = SplitRule::whole};
  for (int byte = 0; byte < 256; ++byte)
    TROUPE_TRY(parts.vocabulary.add(byte, std::string(1, static_cast<char>(byte))));
  return parts;
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

Status expect_auto(const fs::path& path, std::string_view split) {
  if (split == split_of_file)
    return {};
  return fail(
      Errc::data,
      "{}: it says itself how texts are cut into words: leave data.tokenizer_split (--split) "
      "at auto",
      echoed(path.string()));
}

Result<TokenizerParts> read_vocabulary(const fs::path& path, const nlohmann::json& tokens,
                                       std::string_view split) {
  const auto rule = split == "cl100k" ? SplitRule::cl100k : SplitRule::gpt2;
  for (const auto& [vocabulary, merges] : gpt2_names)
    if (const auto beside = path.parent_path() / merges; is_file(beside))
      return read_gpt2(path, tokens, beside, rule);
  return fail(Errc::data, "{}: there is no merges.txt or vocab.bpe beside it",
              echoed(path.string()));
}

Result<TokenizerParts> read_json_file(const fs::path& path, std::string_view split) {
  auto root = read_json(path);
  if (!root)
    return failure(root.error());
  const bool has_model =
      root->is_object() && root->contains("model") && (*root)["model"].is_object();
  if (!has_model)
    return read_vocabulary(path, *root, split);
  TROUPE_TRY(expect_auto(path, split));
  return read_hugging_face(path, *root);
}

Result<TokenizerParts> read_folder(const fs::path& folder, std::string_view split) {
  if (const auto file = folder / "tokenizer.json"; is_file(file))
    return read_json_file(file, split);
  for (const auto& [vocabulary, merges] : gpt2_names)
    if (is_file(folder / vocabulary))
      return read_json_file(folder / vocabulary, split);
  return fail(Errc::data,
              "{}: there is no tokenizer.json, vocab.json or encoder.json in this folder",
              echoed(folder.string()));
}

Result<TokenizerParts> read_tokenizer(const std::string& name, std::string_view split) {
  const fs::path path{name};
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    return read_folder(path, split);
  if (path.extension() == ".tiktoken")
    return read_tiktoken(path, split);
  if (path.extension() == ".json")
    return read_json_file(path, split);
  return fail(Errc::data,
              "{} is no tokenizer: bytes, a folder with one, tokenizer.json, vocab.json (and "
              "merges.txt), or a file that ends in .tiktoken",
              echoed(name));
}

} // namespace

Result<TokenizerPtr> open_tokenizer(const std::string& name, std::string_view split) {
  if (name == byte_tokenizer)
    TROUPE_TRY(expect_auto(name, split));
  TROUPE_TRY(auto parts, name == byte_tokenizer ? byte_tokens() : read_tokenizer(name, split));
  auto made = Tokenizer::make(std::move(parts));
  if (!made)
    return fail(made.error().code, "{}: {}", echoed(name), made.error().message);
  return made;
}

} // namespace troupe::data
