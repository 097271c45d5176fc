#include "inference/exports/tokenizer_files.hpp"

#include "core/atomic_file.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "data/tokenizer/open.hpp"

#include <array>
#include <fstream>

namespace troupe::inference {

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t most_tokenizer_bytes = std::uintmax_t{128} << 20;

/// Additional files that transformers may read.
constexpr std::array about_tokenizers = {"tokenizer_config.json", "special_tokens_map.json",
                                         "added_tokens.json"};

Result<ExportedFile> copy_one(const fs::path& from, const fs::path& to) {
  std::error_code error;
  const bool regular = fs::is_regular_file(from, error);
  if (!regular || fs::file_size(from, error) > most_tokenizer_bytes)
    return fail(Errc::data, "{}: not a regular file of at most {} MiB", escaped(from.string()),
                most_tokenizer_bytes >> 20);
  TROUPE_TRY(auto file, AtomicFile::create(to));
  std::ifstream in{from, std::ios::binary};
  std::string chunk(std::size_t{1} << 20, '\0');
  while (in) {
    in.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    TROUPE_TRY(
        file.write(std::string_view{chunk}.substr(0, static_cast<std::size_t>(in.gcount()))));
  }
  if (!in.eof())
    return fail(Errc::io, "{}: cannot be read", escaped(from.string()));
  TROUPE_TRY(file.commit());
  return ExportedFile{to, file.bytes_written()};
}

} // namespace

Result<std::vector<ExportedFile>> copy_tokenizer(const std::string& tokenizer,
                                                 const fs::path& folder) {
  TROUPE_TRY(auto files, data::files_of_tokenizer(tokenizer));
  std::error_code ignored;
  for (const auto* const name : about_tokenizers)
    if (const auto beside = files.empty() ? fs::path{} : files[0].path.parent_path() / name;
        fs::exists(beside, ignored))
      files.push_back({beside, name});
  std::vector<ExportedFile> copied;
  for (const auto& file : files) {
    TROUPE_TRY(copied.emplace_back(), copy_one(file.path, folder / file.name));
  }
  return copied;
}

} // namespace troupe::inference
