/// Estimates the cost of nodes from their shapes.
#pragma once

#include "core/graph/graph.hpp"

#include <cstddef>

namespace troupe::nn {

/// Returns the size of a tensor in bytes.
std::size_t bytes_of(const Tensor& tensor);

struct NodeCost {
  /// Multiplications and additions of convolutions and matrix products, forward and backward. Other
  /// ops are bound by memory traffic, so their operations are not counted.
  double operations = 0;
  double repeated = 0; ///< the part of `operations` that recomputes what forward did not store
  double bytes = 0;    ///< read and written, counting each tensor once

  /// Returns the time, as the number of bytes that could be moved in it: the roofline model
  /// (Williams, Waterman & Patterson 2009) of a machine that computes 16 operations for each byte
  /// it moves. In fp32, processors with vector instructions and GPUs are near that ratio; with
  /// matrix instructions they compute more.
  double time() const;
};

/// Returns the cost of a node, by its op's record (ops/record.hpp).
NodeCost cost_of(const Graph& graph, const Node& node);

/// Returns the cost of a node that is bound by memory traffic.
NodeCost cost_of_moving(const Graph& graph, const Node& node);

/// Returns the sums over all nodes.
NodeCost cost_of(const Graph& graph);

} // namespace troupe::nn
