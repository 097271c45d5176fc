/// Writes one safetensors file of a checkpoint, chunk by chunk, so that its values need not be in
/// memory together.
#pragma once

#include "core/atomic_file.hpp"
#include "core/checkpoint/manifest.hpp"
#include "core/checkpoint/tensor_part.hpp"
#include "core/error.hpp"
#include "core/sha256.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

namespace troupe {

/// The file appears at commit(). Before that and after an error, any earlier file of that name
/// stays. Errors: no_space names the path, the bytes needed and the bytes free.
class StateFileWriter {
public:
  /// Any reader of the format can show the metadata. The key "format" is reserved: the writer sets
  /// it.
  static Result<StateFileWriter> create(const std::filesystem::path& path,
                                        const std::map<std::string, std::string>& metadata,
                                        std::span<const TensorPart> parts);

  /// Appends the next values: the parts in order, divided into calls at any point.
  Status append(std::span<const float> values);
  /// Errors: those above, and internal when values are missing.
  Result<FileRecord> commit();

private:
  StateFileWriter(std::filesystem::path path, AtomicFile file, std::uint64_t bytes)
      : path_{std::move(path)}, file_{std::move(file)}, bytes_{bytes} {}
  Status write(std::span<const std::byte> bytes);
  Status explained(Status status) const;

  std::filesystem::path path_;
  AtomicFile file_;
  Sha256 sha_;
  std::uint64_t bytes_; ///< size of the finished file
};

} // namespace troupe
