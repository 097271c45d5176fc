/// What each node moves and computes as it is lowered: the rules by which kernels of our own are
/// reckoned where nothing is measured, and steps are counted (docs/gpu-count.md).
#pragma once

#include "core/device/executable.hpp"
#include "core/graph/graph.hpp"
#include "gpu/lowering/plan_registry.hpp"
#include "gpu/traffic.hpp"

#include <vector>

namespace troupe::gpu {

/// What lowering decides about a node beyond what the graph says.
struct Decisions {
  DType weight_gradient = DType::f32; ///< as a convolution's plan writes it
  bool in_place = false;              ///< another shape of what already lies there
};

Traffic traffic_of(const Graph& graph, const Node& node, const Decisions& decisions = {});

/// As this memory and these plans make it. Errors: as PlanRegistry::plan, for a convolution.
Result<Traffic> traffic_of(const Graph& graph, const Node& node, const MemoryPlan& memory,
                           PlanRegistry* plans, const cudnn::PlanPolicy& policy);

Traffic cast_traffic(std::size_t elements, DType from, DType to);
/// Of weight gradients' casts that share a launch (narrow_gradients.hpp).
Traffic widening_traffic(const std::vector<Traffic>& casts);

} // namespace troupe::gpu
