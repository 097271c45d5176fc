/// From an operation graph as data to cuDNN's descriptor of it.
#pragma once

#include "gpu/cudnn/detail/operation_graph.hpp"
#include "gpu/cudnn/target.hpp"

#include <deque>

namespace troupe::gpu::cudnn {

/// A graph's descriptor, and those it is made of: whether cuDNN copies them is not documented.
struct LoweredGraph {
  Descriptor graph;
  std::deque<Descriptor> parts;
};

/// Errors: unsupported when cuDNN refuses an operation or the graph; the message has the graph's
/// name.
Result<LoweredGraph> lower(const Target& target, const OperationGraph& graph);

} // namespace troupe::gpu::cudnn
