/// A state that is put together of parts of its tensors, which lie in several places.
#pragma once

#include "core/checkpoint/state_source.hpp"
#include "core/checkpoint/tensor_part.hpp"

#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// Where a part's values are read from, by any thread.
class PartValues {
public:
  PartValues() = default;
  PartValues(const PartValues&) = delete;
  PartValues& operator=(const PartValues&) = delete;
  virtual ~PartValues() = default;
  /// From the part's element `first` on, as they are stored. Blocks.
  virtual Status read(std::size_t first, std::span<float> into) const = 0;
};

struct PartOfState {
  TensorPart what;
  std::shared_ptr<const PartValues> values;
};

/// The header's tensors are those of the parts. Nothing is read before somebody asks for it.
/// Errors: corrupt, where a part is missing or there twice.
Result<StateSourcePtr> state_in_parts(CheckpointHeader header, std::vector<PartOfState> parts);

} // namespace troupe
