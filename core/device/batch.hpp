/// A micro-batch: named tensors in a device's memory, which a graph's inputs and targets are bound
/// to.
#pragma once

#include "core/graph/tensor.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace troupe {

struct BatchTensor {
  std::string name; ///< that of the graph's tensor
  DType dtype = DType::f32;
  Shape shape; ///< with the samples in front
  const void* data = nullptr;

  std::size_t bytes() const { return static_cast<std::size_t>(shape.elements()) * size_of(dtype); }
};

/// The tensors of a batch, in any order.
using BatchView = std::vector<BatchTensor>;

/// A graph has no more inputs and targets together.
inline constexpr std::size_t most_batch_tensors = 8;

/// Where they lie, in the order of the graph's tensors; the others are null.
using BatchAddresses = std::array<const void*, most_batch_tensors>;

/// The same tensors at these addresses, of which there must be at least as many.
BatchView at_addresses(BatchView tensors, const std::vector<const void*>& addresses);

} // namespace troupe
