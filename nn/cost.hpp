/// What nodes cost, estimated from their shapes alone.
#pragma once

#include "core/graph/graph.hpp"

#include <cstddef>

namespace troupe::nn {

/// Bytes that a tensor takes.
std::size_t bytes_of(const Tensor& tensor);

struct NodeCost {
  /// Multiplications and additions of convolutions and matrix products, forward and backward. What
  /// other ops compute is hidden behind what they move.
  double operations = 0;
  double repeated = 0; ///< of these, what forward has made before and nobody has kept
  double bytes = 0;    ///< read and written, each tensor once

  /// Time, in bytes that could have been moved in it: the roofline model (Williams, Waterman &
  /// Patterson 2009) of a machine that computes 16 operations for each byte it moves. Processors
  /// with vector instructions and GPUs are near that in fp32; with those for matrices they compute
  /// more.
  double time() const;
};

/// The cost of a node, by its op's record (ops/record.hpp).
NodeCost cost_of(const Graph& graph, const Node& node);

/// The cost of a node whose time is what it takes to move its tensors.
NodeCost cost_of_moving(const Graph& graph, const Node& node);

/// Operations of all nodes.
double operations_of(const Graph& graph);

/// Of these, what backward nodes make again.
double repeated_operations_of(const Graph& graph);

} // namespace troupe::nn
