/// Where tensors and parts of workspaces may start.
#pragma once

#include <cstddef>

namespace troupe::gpu {

/// Bytes: what the largest accesses and every library's kernels want.
constexpr std::size_t tensor_alignment = 256;

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + tensor_alignment - 1) / tensor_alignment * tensor_alignment;
}

} // namespace troupe::gpu
