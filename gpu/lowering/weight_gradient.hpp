/// The type in which cuDNN writes a convolution's weight gradient. Few engines write f32 from f16
/// and bf16, and those are general ones; the result of the other engines is cast afterwards.
#pragma once

#include "core/graph/graph.hpp"
#include "gpu/lowering/plan_registry.hpp"

namespace troupe::gpu {

struct WeightGradientWay {
  TimedPlan plan;
  DType written = DType::f32;
  double microseconds = 0; ///< including the cast, if there is one
};

/// Returns the faster of both ways, and notes the choice in the registry if both exist. Errors:
/// those of PlanRegistry::plan, if neither exists.
Result<WeightGradientWay> weight_gradient(PlanRegistry& plans, const cudnn::PlanPolicy& policy,
                                          const Graph& graph, const Node& node);

/// Elements of a weight gradient as stored, with the padded channels of the images.
std::size_t weight_gradient_elements(const Graph& graph, const Node& node);

} // namespace troupe::gpu
