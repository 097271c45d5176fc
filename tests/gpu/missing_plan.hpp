#pragma once

#include "core/graph/graph.hpp"
#include "gpu/lowering/plan_registry.hpp"

#include <string>

namespace troupe::testing {

/// Names the first convolution of a graph that has no plan; empty when all have one.
std::string missing_plan(gpu::PlanRegistry& plans, const gpu::cudnn::PlanPolicy& policy,
                         const Graph& graph);

} // namespace troupe::testing
