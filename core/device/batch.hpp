/// A micro-batch: named tensors in a device's memory, bound to a graph's inputs and targets.
#pragma once

#include "core/graph/tensor.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace troupe {

struct BatchTensor {
  std::string name; ///< name of the graph's tensor
  DType dtype = DType::f32;
  Shape shape; ///< the first dimension counts samples
  const void* data = nullptr;

  std::size_t bytes() const { return static_cast<std::size_t>(shape.elements()) * size_of(dtype); }
};

/// The tensors of a batch, in any order.
using BatchView = std::vector<BatchTensor>;

/// Most inputs and targets that a graph may have together.
inline constexpr std::size_t most_batch_tensors = 8;

/// Addresses of the tensors, in the order of the graph's tensors; the others are null.
using BatchAddresses = std::array<const void*, most_batch_tensors>;

/// Returns the tensors with these addresses. `addresses` has at least as many elements.
inline BatchView at_addresses(BatchView tensors, const std::vector<const void*>& addresses) {
  for (std::size_t i = 0; i < tensors.size(); ++i)
    tensors[i].data = addresses.at(i);
  return tensors;
}

} // namespace troupe
