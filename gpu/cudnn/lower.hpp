/// Converts an operation graph to cuDNN descriptors.
#pragma once

#include "gpu/cudnn/detail/own_tensors.hpp"
#include "gpu/cudnn/target.hpp"

#include <deque>

namespace troupe::gpu::cudnn {

/// A graph's descriptor, its parts, and the tensors that its plans bind. The parts are kept because
/// cuDNN does not document whether it copies them.
struct LoweredGraph {
  Descriptor graph;
  std::deque<Descriptor> parts;
  OwnTensors own;
};

/// Errors: unsupported if cuDNN rejects an operation or the graph; the message contains the graph's
/// name.
Result<LoweredGraph> lower(const Target& target, const OperationGraph& graph);

} // namespace troupe::gpu::cudnn
