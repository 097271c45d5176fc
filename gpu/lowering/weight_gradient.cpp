#include "gpu/lowering/weight_gradient.hpp"

#include "core/fail.hpp"
#include "gpu/lowering/convolution_graph.hpp"
#include "gpu/lowering/traffic.hpp"

#include <fmt/format.h>

namespace troupe::gpu {

std::size_t weight_gradient_elements(const Graph& graph, const Node& node) {
  const auto& dw = graph[node.outputs[0]].shape;
  return static_cast<std::size_t>(dw[0] * graph[node.inputs[1]].shape[3] * dw[2] * dw[3]);
}

Result<WeightGradientWay> weight_gradient(PlanRegistry& plans, const cudnn::PlanPolicy& policy,
                                          const Graph& graph, const Node& node) {
  const auto type = graph[node.inputs[1]].dtype;
  const auto wide_graph = backward_weight_graph(graph, node);
  const auto wide = plans.plan(wide_graph, policy);
  if (type == DType::f32) {
    TROUPE_TRY(const auto plan, wide);
    return WeightGradientWay{plan, type, plan.microseconds};
  }
  const auto narrow = plans.plan(backward_weight_graph(graph, node, type), policy);
  if (!narrow && !wide)
    return failure(narrow.error());
  const double cast = plans.rates().microseconds(
      cast_traffic(weight_gradient_elements(graph, node), type, DType::f32));
  const bool writes_wide = wide && (!narrow || wide->microseconds <= narrow->microseconds + cast);
  if (narrow && wide)
    plans.note(fmt::format("choice for {}: {} ({:.1f} us written as f32, {:.1f} + {:.1f} us as {} "
                           "and cast)",
                           wide_graph.name, writes_wide ? "f32" : "cast", wide->microseconds,
                           narrow->microseconds, cast, to_string(type)));
  return writes_wide ? WeightGradientWay{*wide, DType::f32, wide->microseconds}
                     : WeightGradientWay{*narrow, type, narrow->microseconds + cast};
}

} // namespace troupe::gpu
