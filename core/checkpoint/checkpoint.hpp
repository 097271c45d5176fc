/// The state of a training run between two steps, in one file that any safetensors reader opens and
/// whose damage, anywhere, is found.
#pragma once

#include "../atomic_file.hpp"
#include "../error.hpp"
#include "../graph/tensor.hpp"
#include "../sha256.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

class SafetensorsReader;

/// fp32 values in canonical layout (row-major in `shape`; see ParameterCodec).
struct CheckpointTensor {
  std::string name;
  Shape shape;
  std::span<const float> values;
};

/// Tensors carry the names of the graph, so that a file opens as a PyTorch state_dict: parameters
/// and statistics as they are ("layer1.0.conv1.weight", "layer1.0.bn1.running_mean"), the
/// optimizer's state as "optimizer.momentum.NAME", "optimizer.exp_avg.NAME",
/// "optimizer.exp_avg_sq.NAME".
struct Checkpoint {
  std::int64_t step = 0; ///< the last committed step
  std::int64_t epoch = 0;
  /// What resuming has to agree on, and what a reader wants to know: seed, model, optimizer, config
  /// digest, world size, version. The keys checksum, step, epoch, format and troupe_checkpoint are
  /// the file's own.
  std::map<std::string, std::string> metadata;
  std::vector<CheckpointTensor> tensors;
  /// What `tensors` point into when the checkpoint was read; null when they are the caller's.
  std::shared_ptr<const std::byte[]> storage = nullptr;

  /// Null when there is none.
  const CheckpointTensor* find(std::string_view name) const;
};

/// "optimizer.momentum." + name, for state "momentum".
std::string optimizer_tensor_name(std::string_view state, std::string_view name);

struct CheckpointEntry {
  std::string name;
  Shape shape;
};

/// A checkpoint before its values.
struct CheckpointHeader {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::map<std::string, std::string> metadata;
  std::vector<CheckpointEntry> tensors; ///< in the order of the file
};

/// What stands before the values of a checkpoint in memory.
CheckpointHeader header_of(const Checkpoint& checkpoint);

/// Writes a checkpoint whose values come in pieces, so that they need not be in memory at once. The
/// file is there whole after commit(); until then, and after an error, what was there before is.
/// The checksum in `__metadata__` is the SHA-256 of the whole file with the checksum's 64
/// characters taken as zeros ('0'). Errors: no_space names the path, the bytes needed and the bytes
/// free.
class CheckpointWriter {
public:
  static Result<CheckpointWriter> create(const std::filesystem::path& path,
                                         const CheckpointHeader& header);

  /// The next values, of one tensor after the other, cut anywhere.
  Status append(std::span<const float> values);
  /// Errors also: internal, when values are missing.
  Status commit();

private:
  CheckpointWriter(std::filesystem::path path, AtomicFile file, std::uint64_t bytes)
      : path_{std::move(path)}, file_{std::move(file)}, bytes_{bytes} {}
  Status write(std::span<const std::byte> bytes);
  Status explained(Status status) const;

  std::filesystem::path path_;
  AtomicFile file_;
  Sha256 sha_;
  std::uint64_t bytes_; ///< that the file will have
};

/// Writes all of it at once.
Status write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Reads and verifies. Errors: io when it cannot be read; corrupt names the file and what is wrong.
Result<Checkpoint> read_checkpoint(const std::filesystem::path& path);

/// Whether a safetensors file says that it is a checkpoint of troupe's.
bool is_checkpoint(const SafetensorsReader& reader);
/// What such a file says before its values. Errors: corrupt.
Result<CheckpointHeader> read_checkpoint_header(const SafetensorsReader& reader);
/// Whether such a file is whole. Errors: as read_checkpoint.
Status verify_checkpoint(const SafetensorsReader& reader);

/// SHA-256 over the fp32 values of all parameters (canonical layout, little-endian) in name order:
/// equal exactly when two runs ended with the same parameters bit for bit.
std::string parameters_sha256(const std::map<std::string, std::span<const float>>& parameters);

} // namespace troupe
