/// Traffic and operations of each node as it is lowered. The rules give estimated times where
/// nothing is measured, and count steps (docs/gpu-count.md).
#pragma once

#include "core/device/executable.hpp"
#include "core/graph/graph.hpp"
#include "gpu/lowering/plan_registry.hpp"
#include "gpu/traffic.hpp"

#include <vector>

namespace troupe::gpu {

/// Decisions of lowering about a node that the graph does not contain.
struct Decisions {
  DType weight_gradient = DType::f32; ///< as a convolution's plan writes it
  bool in_place = false;              ///< the output is the input's memory under another shape
};

Traffic traffic_of(const Graph& graph, const Node& node, const Decisions& decisions = {});

/// Takes the decisions from this memory plan and these plans. Errors: those of PlanRegistry::plan,
/// for a convolution.
Result<Traffic> traffic_of(const Graph& graph, const Node& node, const MemoryPlan& memory,
                           PlanRegistry* plans, const cudnn::PlanPolicy& policy);

Traffic cast_traffic(std::size_t elements, DType from, DType to);
/// Returns the traffic of weight gradients' casts that share a launch (narrow_gradients.hpp).
Traffic widening_traffic(const std::vector<Traffic>& casts);

} // namespace troupe::gpu
