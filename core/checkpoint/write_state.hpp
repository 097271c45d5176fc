/// Writes the files of a checkpoint's folder.
#pragma once

#include "core/checkpoint/checkpoint.hpp"
#include "core/checkpoint/manifest.hpp"
#include "core/checkpoint/state_file.hpp"
#include "core/checkpoint/state_source.hpp"

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace troupe {

inline constexpr const char* model_file = "model.safetensors";
inline constexpr const char* optimizer_file = "optimizer.safetensors";

/// Takes values, one tensor after the other. Nothing is there before commit().
class StateWriter {
public:
  /// A whole state: weights in model_file, which PyTorch's programs load, and what the optimizer
  /// knows, if anything, in optimizer_file. The header's tensors are written in their order, the
  /// optimizer's last. The folder exists.
  static Result<StateWriter> full(const std::filesystem::path& folder,
                                  const CheckpointHeader& header);
  /// What one of several writers has of it, in a file of its own:
  /// "rank-00002-of-00004.safetensors".
  static Result<StateWriter> part(const std::filesystem::path& folder, int rank, int world_size,
                                  std::span<const TensorPart> parts);

  /// The next values, cut anywhere within a tensor.
  Status append(std::span<const float> values);
  /// What has been written, for the manifest.
  Result<std::vector<FileRecord>> commit();

private:
  struct File {
    StateFileWriter writer;
    std::size_t left; ///< elements
  };

  StateWriter() = default;
  Status add(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata,
             std::span<const TensorPart> parts);

  std::vector<File> files_;
  std::size_t current_ = 0;
};

/// Writes a checkpoint's folder in place of what is there, whole or in so many parts; its parent
/// must exist. No more of it is in memory than a few MiB.
Status write_state(const std::filesystem::path& folder, const StateSource& state, int parts = 0);

/// Writes the weights alone into a file, with the state's metadata.
Status write_weights(const std::filesystem::path& file, const StateSource& state);

} // namespace troupe
