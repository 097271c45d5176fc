#include "data/tokenizer/open.hpp"

#include "core/config/data_sets.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "data/detail/text_file.hpp"
#include "data/tokenizer/detail/formats.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <filesystem>
#include <utility>

namespace troupe::data {

namespace {

namespace fs = std::filesystem;

/// File names of a vocabulary and of the merges beside it.
using Names = std::pair<const char*, const char*>;
constexpr std::array gpt2_names = {Names{"vocab.json", "merges.txt"},
                                   Names{"encoder.json", "vocab.bpe"}};

/// Returns a token for each byte, without an end of document, which is added after them.
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

Status expect_auto(const fs::path& path, TokenizerSplit split) {
  if (split == TokenizerSplit::automatic)
    return {};
  return fail(Errc::data,
              "{}: this tokenizer defines how texts are split into words; leave data.tokenizer's "
              "split (--split) at auto",
              echoed(path.string()));
}

Result<fs::path> merges_beside(const fs::path& vocabulary) {
  for (const auto& [name, merges] : gpt2_names)
    if (auto beside = vocabulary.parent_path() / merges; is_file(beside))
      return beside;
  return fail(Errc::data, "{}: there is no merges.txt or vocab.bpe next to it",
              echoed(vocabulary.string()));
}

/// Returns whether the file is a tokenizer.json, not a vocabulary.
bool has_model(const nlohmann::json& root) {
  return root.is_object() && root.contains("model") && root["model"].is_object();
}

Result<TokenizerParts> read_json_file(const fs::path& path, TokenizerSplit split) {
  TROUPE_TRY(const auto root, read_json(path));
  if (has_model(root)) {
    TROUPE_TRY(expect_auto(path, split));
    return read_hugging_face(path, root);
  }
  TROUPE_TRY(const auto merges, merges_beside(path));
  return read_gpt2(path, root, merges,
                   split == TokenizerSplit::cl100k ? SplitRule::cl100k : SplitRule::gpt2);
}

Result<fs::path> file_of_folder(const fs::path& folder) {
  for (const auto* const name : {"tokenizer.json", "vocab.json", "encoder.json"})
    if (is_file(folder / name))
      return folder / name;
  return fail(Errc::data,
              "{}: there is no tokenizer.json, vocab.json or encoder.json in this folder",
              echoed(folder.string()));
}

/// Returns the named file, or the tokenizer's file in the named folder.
Result<fs::path> first_file(const std::string& name) {
  const fs::path path{name};
  if (std::error_code ignored; fs::is_directory(path, ignored))
    return file_of_folder(path);
  if (path.extension() == ".tiktoken" || path.extension() == ".json")
    return path;
  return fail(Errc::data,
              "{} is not a tokenizer; expected bytes, a folder with a tokenizer, tokenizer.json, "
              "vocab.json (and merges.txt) or a .tiktoken file",
              echoed(name));
}

Result<TokenizerParts> read_tokenizer(const std::string& name, TokenizerSplit split) {
  TROUPE_TRY(const auto path, first_file(name));
  return path.extension() == ".tiktoken" ? read_tiktoken(path, split) : read_json_file(path, split);
}

} // namespace

Result<TokenizerPtr> open_tokenizer(const std::string& name, TokenizerSplit split) {
  if (name == byte_tokenizer)
    TROUPE_TRY(expect_auto(name, split));
  TROUPE_TRY(auto parts, name == byte_tokenizer ? byte_tokens() : read_tokenizer(name, split));
  auto made = Tokenizer::make(std::move(parts));
  if (!made)
    return fail(made.error().code, "{}: {}", echoed(name), made.error().message);
  return made;
}

Result<std::vector<TokenizerFile>> files_of_tokenizer(const std::string& name) {
  if (name == byte_tokenizer)
    return std::vector<TokenizerFile>{};
  TROUPE_TRY(const auto path, first_file(name));
  if (path.extension() == ".tiktoken")
    return std::vector{TokenizerFile{path, path.filename().string()}};
  TROUPE_TRY(const auto root, read_json(path));
  if (has_model(root))
    return std::vector{TokenizerFile{path, "tokenizer.json"}};
  TROUPE_TRY(const auto merges, merges_beside(path));
  return std::vector{TokenizerFile{path, "vocab.json"}, TokenizerFile{merges, "merges.txt"}};
}

} // namespace troupe::data
