/// What the plan of an operation graph moves and computes.
#pragma once

#include "../traffic.hpp"
#include "detail/operation_graph.hpp"

namespace troupe::gpu::cudnn {

/// One launch, whatever kernels the engine has; its workspace is not counted.
Traffic traffic_of(const OperationGraph& graph);

} // namespace troupe::gpu::cudnn
