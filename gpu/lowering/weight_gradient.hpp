/// In which type a convolution's weight gradient comes out of cuDNN: few engines write f32 from f16
/// and bf16, and those are general ones; the others' result is cast behind them.
#pragma once

#include "core/graph/graph.hpp"
#include "gpu/lowering/plan_registry.hpp"

namespace troupe::gpu {

struct WeightGradientWay {
  TimedPlan plan;
  DType written = DType::f32;
  double microseconds = 0; ///< with the cast, where there is one
};

/// The faster of both, noted in the book where both exist; errors as PlanRegistry::plan where none
/// does.
Result<WeightGradientWay> weight_gradient(PlanRegistry& plans, const cudnn::PlanPolicy& policy,
                                          const Graph& graph, const Node& node);

/// Elements of a weight gradient as it is stored, with the padded channels of the images.
std::size_t weight_gradient_elements(const Graph& graph, const Node& node);

} // namespace troupe::gpu
