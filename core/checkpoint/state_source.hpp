/// Sources of a state's values: memory, a file, a folder of files, or the seed. A tensor or a part
/// of one is read at a time.
#pragma once

#include "core/checkpoint/checkpoint.hpp"
#include "core/device/blocked_layout.hpp"
#include "core/error.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Immutable: any thread may read. Values need not be in memory.
class StateSource {
public:
  explicit StateSource(CheckpointHeader header);
  StateSource(const StateSource&) = delete;
  StateSource& operator=(const StateSource&) = delete;
  virtual ~StateSource() = default;

  const CheckpointHeader& header() const { return header_; }
  /// Returns the tensor's index in header().tensors.
  std::optional<std::size_t> find(std::string_view name) const;

  /// Fills `into` with a tensor's values in canonical layout (row-major), from its element `first`
  /// on. Blocks on files. Errors: io; corrupt when the content has changed since it was opened.
  virtual Status read(std::size_t tensor, std::size_t first, std::span<float> into) const = 0;
  /// Fills `into` with a tensor's values in stored order for `layout`, from its stored element
  /// `first` on. So part of a tensor can be read without the rest. Returns false if the source does
  /// not store the tensor in this layout.
  virtual Result<bool> read_stored(std::size_t tensor, const BlockedLayout& layout,
                                   std::size_t first, std::span<float> into) const;

private:
  CheckpointHeader header_;
  std::vector<std::uint32_t> by_name_; ///< indices of the tensors, sorted by name for fast lookup
};
using StateSourcePtr = std::shared_ptr<const StateSource>;

/// Returns a source for values in memory.
StateSourcePtr state_in_memory(Checkpoint checkpoint);

/// How much of a checkpoint is verified when it is opened: all bytes, or only sizes and headers.
enum class Verify : std::uint8_t { content, sizes };

/// Opens a checkpoint, which is verified first, or any other safetensors file. F16 and BF16 tensors
/// are cast up to f32, F64 tensors are rounded, and tensors of other types are left out. The
/// header's metadata is the file's. Errors: io; corrupt names the file and the problem.
Result<StateSourcePtr> open_state(const std::filesystem::path& path,
                                  Verify verify = Verify::content);

/// Reads all values into memory.
Result<Checkpoint> read_whole(const StateSource& source);

} // namespace troupe
