/// Traffic and operations of an operation graph's plan.
#pragma once

#include "gpu/cudnn/detail/operation_graph.hpp"
#include "gpu/traffic.hpp"

namespace troupe::gpu::cudnn {

/// Counts one launch, however many kernels the engine has; the workspace is not counted.
Traffic traffic_of(const OperationGraph& graph);

} // namespace troupe::gpu::cudnn
