/// A state put together from parts of its tensors, which come from several sources.
#pragma once

#include "core/checkpoint/state_source.hpp"
#include "core/checkpoint/tensor_part.hpp"

#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// The source of a part's values. Any thread may read it.
class PartValues {
public:
  PartValues() = default;
  PartValues(const PartValues&) = delete;
  PartValues& operator=(const PartValues&) = delete;
  virtual ~PartValues() = default;
  /// Fills `into` from the part's element `first` on, in stored order. Blocks.
  virtual Status read(std::size_t first, std::span<float> into) const = 0;
};

struct PartOfState {
  TensorPart what;
  std::shared_ptr<const PartValues> values;
};

/// Builds a state whose tensors are those of the parts. Values are read on demand. Errors: corrupt
/// when a part is missing or occurs twice.
Result<StateSourcePtr> state_in_parts(CheckpointHeader header, std::vector<PartOfState> parts);

} // namespace troupe
