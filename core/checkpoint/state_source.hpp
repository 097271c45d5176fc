/// Where the values of a state are read from, a tensor or a part of one at a time: memory, a file,
/// a folder of files, or the seed.
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

/// Immutable: any thread may read. Nothing of the values need be in memory.
class StateSource {
public:
  explicit StateSource(CheckpointHeader header);
  StateSource(const StateSource&) = delete;
  StateSource& operator=(const StateSource&) = delete;
  virtual ~StateSource() = default;

  const CheckpointHeader& header() const { return header_; }
  /// The tensor's number in header().tensors.
  std::optional<std::size_t> find(std::string_view name) const;

  /// Fills `into` with a tensor's values in canonical layout (row-major), from its element `first`
  /// on. Blocks on files. Errors: io; corrupt where what is read now is not what was opened.
  virtual Status read(std::size_t tensor, std::size_t first, std::span<float> into) const = 0;
  /// The same of a tensor that lies there as a device stores it, in this layout, from its stored
  /// element `first` on: so a part of it can be read alone. False: it does not lie there so.
  virtual Result<bool> read_stored(std::size_t tensor, const BlockedLayout& layout,
                                   std::size_t first, std::span<float> into) const;

private:
  CheckpointHeader header_;
  std::vector<std::uint32_t> by_name_; ///< numbers of the tensors, for files with very many
};
using StateSourcePtr = std::shared_ptr<const StateSource>;

/// Of values that are in memory.
StateSourcePtr state_in_memory(Checkpoint checkpoint);

/// What of a checkpoint is verified when it is opened: all bytes, or no more than sizes and
/// headers.
enum class Verify : std::uint8_t { content, sizes };

/// Opens what troupe or somebody else has saved: a checkpoint, which is verified first, or any
/// safetensors file, whose F16, BF16 and F64 tensors are widened or rounded and whose other types
/// are left out. The header's metadata are the file's. Errors: io; corrupt names the file and what
/// is wrong.
Result<StateSourcePtr> open_state(const std::filesystem::path& path,
                                  Verify verify = Verify::content);

/// All values in memory.
Result<Checkpoint> read_whole(const StateSource& source);

} // namespace troupe
