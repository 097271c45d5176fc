#include "gpu/lowering/weight_gradient.hpp"

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
  auto wide = plans.plan(wide_graph, policy);
  if (type == DType::f32)
    return wide ? Result<WeightGradientWay>{{*wide, type, wide->microseconds}}
                : failure(wide.error());
  auto narrow = plans.plan(backward_weight_graph(graph, node, type), policy);
  if (!narrow && !wide)
    return failure(narrow.error());
  const double cast = plans.rates().microseconds(
      cast_traffic(weight_gradient_elements(graph, node), type, DType::f32));
  if (!narrow)
    return WeightGradientWay{*wide, DType::f32, wide->microseconds};
  const double with_cast = narrow->microseconds + cast;
  if (!wide)
    return WeightGradientWay{*narrow, type, with_cast};
  const bool writes_wide = wide->microseconds <= with_cast;
  plans.note(fmt::format("choice for {}: {} ({:.1f} us written as f32, {:.1f} + {:.1f} us as {} "
                         "and cast)",
                         wide_graph.name, writes_wide ? "f32" : "cast", wide->microseconds,
                         narrow->microseconds, cast, to_string(type)));
  return writes_wide ? WeightGradientWay{*wide, DType::f32, wide->microseconds}
                     : WeightGradientWay{*narrow, type, with_cast};
}

} // namespace troupe::gpu
