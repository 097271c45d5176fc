/// Files and folders that appear complete or not at all: they are written under a temporary name,
/// then renamed.
#pragma once

#include "core/error.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

namespace troupe {

/// The file at the path stays unchanged until commit() has flushed all bytes to the disk. A file
/// that is destroyed without commit() is deleted. A killed process leaves its temporary file.
class AtomicFile {
public:
  /// Creates temporary_name(path), in `staging` if that is given. `staging` must exist and be on
  /// the same file system as `path`.
  static Result<AtomicFile> create(const std::filesystem::path& path,
                                   const std::filesystem::path& staging = {});

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  /// Appends. Errors: no_space when the disk, a quota or a file size limit is exhausted, else io.
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text) { return write(std::as_bytes(std::span{text})); }

  /// Overwrites bytes that have been appended, such as a header with a count. Errors: those of
  /// write(); internal when the range goes past the end of the written bytes.
  Status overwrite(std::uint64_t at, std::span<const std::byte> bytes);

  /// Flushes the file to the disk, renames it to its path and flushes the folder. May be called
  /// once.
  Status commit();

  std::uint64_t bytes_written() const { return bytes_written_; }

  /// Returns the final path of a temporary file; nullopt for other files.
  static std::optional<std::filesystem::path> target_of(const std::filesystem::path& temporary);

private:
  AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int descriptor);
  Status failed(std::string_view doing) const; ///< takes the reason from errno
  Status write_at(std::uint64_t at, std::span<const std::byte> bytes);
  void begin_flush();
  void abandon();

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1; ///< negative: committed or moved from
  std::uint64_t bytes_written_ = 0;
  std::uint64_t flushing_ = 0; ///< bytes whose write-out has been started
};

/// The error of a failed write: no_space if the disk, a quota or a file size limit is exhausted,
/// else io. `number`: errno.
Errc code_of_write(int number);

/// Returns the path with ".tmp-NUMBER" appended. The number is random, so other processes and hosts
/// do not pick the same name.
std::filesystem::path temporary_name(std::filesystem::path path);

/// Writes `text` as the complete content of the file.
Status write_file_atomically(const std::filesystem::path& path, std::string_view text,
                             const std::filesystem::path& staging = {});

/// Creates the folder and its missing parents. Errors: no_space, io.
Status make_folders(const std::filesystem::path& folder);

/// Renames a finished folder to `to` and deletes the previous one. If the file system can exchange
/// two names, `to` exists at every moment.
Status rename_folder_atomically(const std::filesystem::path& from, const std::filesystem::path& to);

} // namespace troupe
