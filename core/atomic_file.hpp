/// Files and folders that are whole or not there: written under a temporary name, then renamed.
#pragma once

#include "core/error.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

namespace troupe {

/// Whatever stood at the path before stays until commit() has everything on the disk; a file that
/// is destroyed uncommitted leaves nothing. A killed process leaves the temporary file.
class AtomicFile {
public:
  /// Opens temporary_name(path), or such a one in another folder of its file system; the folder
  /// must exist.
  static Result<AtomicFile> create(const std::filesystem::path& path,
                                   const std::filesystem::path& staging = {});

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  /// Appends. Errors: no_space when the disk, a quota or a file size limit is exhausted, else io.
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text) { return write(std::as_bytes(std::span{text})); }

  /// Writes over bytes that have been appended, as a header that says how many there are. Errors:
  /// as write; internal where there are none.
  Status overwrite(std::uint64_t at, std::span<const std::byte> bytes);

  /// Flushes the file to the disk, gives it its name, flushes the folder. Once.
  Status commit();

  std::uint64_t bytes_written() const { return bytes_written_; }

  /// The name that a temporary file was to get; empty for other files.
  static std::optional<std::filesystem::path> target_of(const std::filesystem::path& temporary);

private:
  AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int descriptor);
  Status failed(std::string_view doing) const; ///< with errno
  void begin_flush();
  void abandon();

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1; ///< negative: committed or moved from
  std::uint64_t bytes_written_ = 0;
  std::uint64_t flushing_ = 0; ///< how many of these the disk has been given
};

/// `NAME.tmp-NUMBER`, which no other writer has, in this process or on another host.
std::filesystem::path temporary_name(std::filesystem::path path);

/// Writes `text` as the whole file.
Status write_file_atomically(const std::filesystem::path& path, std::string_view text,
                             const std::filesystem::path& staging = {});

/// The folder and those that it is in, where they are not there yet. Errors: no_space, io.
Status make_folders(const std::filesystem::path& folder);

/// Gives a folder that is finished its name; what stood there before is deleted. Where the file
/// system can exchange names, one of the two is there at any moment.
Status rename_folder_atomically(const std::filesystem::path& from, const std::filesystem::path& to);

} // namespace troupe
