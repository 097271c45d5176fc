/// Maps a whole file into memory; pages are read on access.
#pragma once

#include "core/error.hpp"

#include <cstddef>
#include <filesystem>
#include <span>

namespace troupe::data {

/// The mapping stays valid when the file is replaced by renaming. Truncating the file while it is
/// mapped terminates the process.
class MappedFile {
public:
  /// Errors: Errc::data if the file does not exist or is not regular; Errc::io if the system
  /// refuses it.
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_{bytes} {}

  std::span<const std::byte> bytes_;
};

} // namespace troupe::data
