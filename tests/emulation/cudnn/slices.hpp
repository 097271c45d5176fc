/// Parts of a graph that do not depend on each other: batches and groups of heads of matrices. A
/// slice at a time needs little memory.
#pragma once

#include "tests/emulation/cudnn/graph.hpp"

#include <vector>

namespace emulation::cudnn {

struct Slice {
  std::int64_t batch = 0, batches = 1, group = 0, groups = 1;
};
/// Returns one slice for a graph that has operations other than those of matrices.
std::vector<Slice> slices_of(const Graph& graph);

/// A slice's elements of a tensor; all elements where the slices share it.
struct Part {
  Dims dims;
  std::int64_t first; ///< element of the tensor
};
Part part_of(const Tensor& tensor, const Slice& slice);

} // namespace emulation::cudnn
