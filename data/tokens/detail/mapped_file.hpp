/// A whole file as memory, whose pages are read when they are looked at.
#pragma once

#include "core/error.hpp"

#include <cstddef>
#include <filesystem>
#include <span>

namespace troupe::data {

/// Files that are replaced by renaming keep what is mapped; one that is cut short while it is
/// mapped ends the process.
class MappedFile {
public:
  /// Errors: Errc::data when there is no such file or it is no regular one, Errc::io when the
  /// system refuses it.
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
