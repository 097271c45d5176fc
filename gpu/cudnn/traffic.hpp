/// What the plan of an operation graph moves and computes.
#pragma once

#include "gpu/cudnn/detail/operation_graph.hpp"
#include "gpu/traffic.hpp"

namespace troupe::gpu::cudnn {

/// One launch, whatever kernels the engine has; its workspace is not counted.
Traffic traffic_of(const OperationGraph& graph);

} // namespace troupe::gpu::cudnn
