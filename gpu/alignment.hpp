/// Alignment of tensors and of parts of workspaces.
#pragma once

#include <cstddef>

namespace troupe::gpu {

/// In bytes: enough for the widest accesses and for the kernels of every library.
constexpr std::size_t tensor_alignment = 256;

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + tensor_alignment - 1) / tensor_alignment * tensor_alignment;
}

} // namespace troupe::gpu
