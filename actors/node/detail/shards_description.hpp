/// The description of a node's parts of a divided state, for a node that lacks them.
#pragma once

#include "core/checkpoint/tensor_part.hpp"
#include "core/error.hpp"
#include "training/retained_state.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe::actors {

struct ShardsDescription {
  CheckpointHeader header; ///< without tensors
  std::vector<training::RetainedTensorPart> parts;
};

std::vector<std::byte> to_bytes(const training::RetainedState& retained);
/// Error: corrupt.
Result<ShardsDescription> parse_parts(std::span<const std::byte> bytes);

} // namespace troupe::actors
