/// Reads whole files into memory; errors name the file.
#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::data {

/// A regular file that is open for reading.
class InputFile {
public:
  /// Opens a file and never blocks, neither on a pipe nor on a device. Errors: Errc::data if the
  /// file does not exist, is not regular or is a git-lfs pointer; Errc::io if the system refuses to
  /// open it.
  static Result<InputFile> open(const std::filesystem::path& path);

  std::uint64_t bytes() const { return bytes_; } ///< size of the file
  /// Reads the next bytes until `into` is full or the file ends. Errors: Errc::io.
  Result<std::size_t> read(std::span<std::uint8_t> into);

private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  InputFile(std::filesystem::path path, std::FILE* file, std::uint64_t bytes)
      : path_{std::move(path)}, file_{file}, bytes_{bytes} {}

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t bytes_;
};

/// Returns the content of a file. Errors: those of InputFile.
Result<std::vector<std::uint8_t>> read_file(const std::filesystem::path& path);

/// Returns at most the first `most` bytes of a file, decompressed if it is a gzip file. `most` also
/// bounds memory for a gzip file that expands without limit. Errors: those of InputFile; Errc::data
/// if the gzip stream ends early, or if its end is reached and its checksum does not match.
Result<std::vector<std::uint8_t>> read_maybe_gzip(const std::filesystem::path& path,
                                                  std::uint64_t most);

/// Returns the extension of a file's name in lower case, with its dot: ".jpg".
std::string lower_extension(const std::filesystem::path& path);

/// Returns advice for missing or damaged files of a data set: "fetch it with ...". `name` is the
/// argument of tools/fetch-data.
std::string fetch_hint(std::string_view name, const std::filesystem::path& root);

/// Returns Errc::data with that advice unless `root` is a folder.
Status check_root(std::string_view name, const std::filesystem::path& root);

} // namespace troupe::data
