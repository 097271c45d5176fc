/// Traffic and operations of each node as it is lowered (docs/gpu-count.md).
#pragma once

#include "core/device/executable.hpp"
#include "gpu/lowering/plan_registry.hpp"
#include "gpu/traffic.hpp"

#include <map>
#include <string>

namespace troupe::bench {

/// Follows the memory plan and the plans as lowering does. `plans` may be null for a graph without
/// convolutions: attention then counts as computed by the kernels of this project. Errors: those of
/// PlanRegistry::plan, for a convolution and attention.
Result<gpu::Traffic> node_traffic(const Graph& graph, const Node& node, const MemoryPlan& memory,
                                  gpu::PlanRegistry* plans, const CompileOptions& options);

/// Returns, by unit, the traffic of its weight gradients' casts, which share a launch
/// (gpu/lowering/narrow_gradients.hpp). Lacks units without casts. Parameters and errors: as above.
Result<std::map<std::string, gpu::Traffic>>
widening_traffic(const Graph& graph, gpu::PlanRegistry* plans, const CompileOptions& options);

} // namespace troupe::bench
