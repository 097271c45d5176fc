/// Writes the files of a checkpoint's folder.
#pragma once

#include "core/atomic_file.hpp"
#include "core/checkpoint/manifest.hpp"
#include "core/checkpoint/state_source.hpp"
#include "core/checkpoint/tensor_part.hpp"
#include "core/sha256.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace troupe {

inline constexpr const char* model_file = "model.safetensors";
inline constexpr const char* optimizer_file = "optimizer.safetensors";

/// Writes one safetensors file of a checkpoint, chunk by chunk, so that its values need not be in
/// memory together. The file appears at commit(). Before that and after an error, any earlier file
/// of that name stays. Errors: no_space names the path, the bytes needed and the bytes free.
class StateFileWriter {
public:
  /// Any reader of the format can show the metadata. The key "format" is reserved: the writer sets
  /// it.
  static Result<StateFileWriter> create(const std::filesystem::path& path,
                                        const std::map<std::string, std::string>& metadata,
                                        std::span<const TensorPart> parts);

  /// Whether all values have been appended.
  bool is_full() const { return file_.bytes_written() >= bytes_; }
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

/// Takes the values of one tensor after the other. The files appear at commit().
class StateWriter {
public:
  /// Writes a complete state: the weights to model_file, which PyTorch programs can load, and
  /// optimizer state, if any, to optimizer_file. Tensors are written in the header's order; those
  /// of the optimizer must be last. The folder must exist.
  static Result<StateWriter> full(const std::filesystem::path& folder,
                                  const CheckpointHeader& header);
  /// Writes one rank's share of the state to a file of its own: "rank-00002-of-00004.safetensors".
  static Result<StateWriter> part(const std::filesystem::path& folder, int rank, int world_size,
                                  std::span<const TensorPart> parts);

  /// Appends the next values. A call may end anywhere, but not go past the end of a file.
  Status append(std::span<const float> values);
  /// Returns the records of the written files, for the manifest.
  Result<std::vector<FileRecord>> commit();

private:
  StateWriter() = default;
  Status add(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata,
             std::span<const TensorPart> parts);

  std::vector<StateFileWriter> files_;
  std::size_t current_ = 0;
};

/// Writes a checkpoint's folder and replaces an earlier one. Divides it into `parts` files, or
/// writes it as one full state if `parts` is 0. The parent folder must exist. Holds only a few MiB
/// in memory.
Status write_state(const std::filesystem::path& folder, const StateSource& state, int parts = 0);

/// Writes only the weights into a file, with the state's metadata.
Status write_weights(const std::filesystem::path& file, const StateSource& state);

} // namespace troupe
