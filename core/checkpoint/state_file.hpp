/// Writes one file of a checkpoint: safetensors, whose values come in pieces, so that they need not
/// be in memory at once.
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

/// The file is there whole after commit(); until then, and after an error, what was there before
/// is. Errors: no_space names the path, the bytes needed and the bytes free.
class StateFileWriter {
public:
  /// Metadata are strings that any reader of the format shows; "format" is ours to set.
  static Result<StateFileWriter> create(const std::filesystem::path& path,
                                        const std::map<std::string, std::string>& metadata,
                                        std::span<const TensorPart> parts);

  /// The next values, of one part after the other, cut anywhere.
  Status append(std::span<const float> values);
  /// Errors also: internal, when values are missing.
  Result<FileRecord> commit();

private:
  StateFileWriter(std::filesystem::path path, AtomicFile file, std::uint64_t bytes)
      : path_{std::move(path)}, file_{std::move(file)}, bytes_{bytes} {}
  Status write(std::span<const std::byte> bytes);
  Status explained(Status status) const;

  std::filesystem::path path_;
  AtomicFile file_;
  Sha256 sha_;
  std::uint64_t bytes_; ///< that the file will have
};

} // namespace troupe
