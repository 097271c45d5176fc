/// Description of the parts of a divided state that a node holds, for a node that lacks them.
#pragma once

#include "core/checkpoint/tensor_part.hpp"
#include "core/error.hpp"
#include "engine/held_state.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe::actors {

struct PartsDescription {
  CheckpointHeader header; ///< without tensors
  std::vector<engine::HeldTensorPart> parts;
};

std::vector<std::byte> to_bytes(const engine::HeldState& held);
/// Error: corrupt.
Result<PartsDescription> parse_parts(std::span<const std::byte> bytes);

} // namespace troupe::actors
