/// Whole files in memory, with errors that name them.
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

/// A regular file that is being read.
class InputFile {
public:
  /// Never waits: not for the writer of a pipe, not for a device. Errors: Errc::data when there is
  /// no such file, or it is not a regular one or a git-lfs pointer, Errc::io when the system
  /// refuses to open it.
  static Result<InputFile> open(const std::filesystem::path& path);

  std::uint64_t bytes() const { return bytes_; } ///< in all
  /// The next bytes, as many as fit; fewer only at the file's end. Errors: Errc::io.
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

/// The whole file. Errors: of InputFile.
Result<std::vector<std::uint8_t>> read_file(const std::filesystem::path& path);

/// The first bytes of a file, unpacked if it is a gzip file, and no more than `most`, whatever it
/// would unpack to. Errors: of InputFile; Errc::data when the gzip stream ends early or, where its
/// end is reached, its checksum does not match.
Result<std::vector<std::uint8_t>> read_maybe_gzip(const std::filesystem::path& path,
                                                  std::uint64_t most);

/// The extension of a file's name, with its dot, in lower case: ".jpg".
std::string lower_extension(const std::filesystem::path& path);

/// What a user can do about files of a data set that are missing or damaged: "fetch it with ...".
/// `name` is as tools/fetch-data takes it.
std::string fetch_hint(std::string_view name, const std::filesystem::path& root);

/// Errc::data with that hint unless `root` is a folder.
Status check_root(std::string_view name, const std::filesystem::path& root);

} // namespace troupe::data
