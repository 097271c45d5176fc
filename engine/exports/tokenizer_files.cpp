#include "tokenizer_files.hpp"

#include "troupe/core/atomic_file.hpp"
#include "troupe/core/config/data_sets.hpp"
#include "troupe/core/fail.hpp"
#include "troupe/core/printable.hpp"

#include <fstream>
#include <utility>

namespace troupe::engine {

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t most_tokenizer_bytes = std::uintmax_t{128} << 20;

/// Names here and there; of two that become one, the first that is there counts.
constexpr std::pair<const char*, const char*> tokenizer_names[] = {
    {"tokenizer.json", "tokenizer.json"},
    {"tokenizer_config.json", "tokenizer_config.json"},
    {"special_tokens_map.json", "special_tokens_map.json"},
    {"added_tokens.json", "added_tokens.json"},
    {"vocab.json", "vocab.json"},
    {"merges.txt", "merges.txt"},
    {"encoder.json", "vocab.json"},
    {"vocab.bpe", "merges.txt"},
};

/// Where the tokenizer's files lie; empty: it has none that transformers reads.
fs::path folder_of_tokenizer(const std::string& tokenizer) {
  std::error_code ignored;
  if (fs::is_directory(tokenizer, ignored))
    return tokenizer;
  const fs::path path{tokenizer};
  if (path.extension() != ".json")
    return {};
  return path.has_parent_path() ? path.parent_path() : fs::path{"."};
}

Result<ExportedFile> copy_one(const fs::path& from, const fs::path& to) {
  std::error_code error;
  const bool regular = fs::is_regular_file(from, error);
  if (!regular || fs::file_size(from, error) > most_tokenizer_bytes)
    return fail(Errc::data, "{}: not a regular file of at most {} bytes", escaped(from.string()),
                most_tokenizer_bytes);
  TROUPE_TRY(auto file, AtomicFile::create(to));
  std::ifstream in{from, std::ios::binary};
  std::string piece(std::size_t{1} << 20, '\0');
  while (in) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    TROUPE_TRY(
        file.write(std::string_view{piece}.substr(0, static_cast<std::size_t>(in.gcount()))));
  }
  if (!in.eof())
    return fail(Errc::io, "{}: cannot be read", escaped(from.string()));
  TROUPE_TRY(file.commit());
  return ExportedFile{to, file.bytes_written()};
}

} // namespace

Result<std::vector<ExportedFile>> copy_tokenizer(const std::string& tokenizer,
                                                 const fs::path& folder) {
  std::vector<ExportedFile> copied;
  const auto from = tokenizer == byte_tokenizer ? fs::path{} : folder_of_tokenizer(tokenizer);
  if (from.empty())
    return copied;
  std::error_code ignored;
  for (const auto& [name, there] : tokenizer_names)
    if (fs::exists(from / name, ignored) && !fs::exists(folder / there, ignored)) {
      TROUPE_TRY(copied.emplace_back(), copy_one(from / name, folder / there));
    }
  return copied;
}

} // namespace troupe::engine
