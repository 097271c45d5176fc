#include "bench/gpu/language_shape.hpp"

#include "core/fail.hpp"
#include "nn/compile.hpp"

namespace troupe::bench {

Result<std::optional<LanguageShape>> language_shape(const Config& config) {
  TROUPE_TRY(const auto model, nn::prepare_model(config, 1, nn::PassMode::evaluation, {}));
  const auto& graph = model.graph;
  LanguageShape shape;
  std::int64_t positions = 0;
  for (const auto id : graph.with_role(Role::parameter))
    shape.parameters += graph[id].shape.elements();
  for (const auto& node : graph.nodes) {
    if (node.op == Op::position_embedding)
      positions += graph[node.inputs[1]].shape.elements();
    if (node.op == Op::embedding)
      shape.vocabulary = graph[node.inputs[1]].shape[0];
    if (node.op == Op::gelu || node.op == Op::swiglu)
      shape.hidden = graph[node.outputs[0]].shape[1];
    if (node.op != Op::causal_attention)
      continue;
    const auto& attention = std::get<AttentionAttributes>(node.attributes);
    ++shape.layers;
    shape.sequence = attention.sequence;
    shape.heads = attention.heads;
    shape.kv_heads = attention.kv_heads;
    shape.width = attention.heads * attention.head_dim;
  }
  if (shape.layers == 0)
    return std::nullopt;
  shape.operations_per_token =
      6.0 * static_cast<double>(shape.parameters - positions) +
      12.0 * static_cast<double>(shape.layers * shape.width * shape.sequence);
  return shape;
}

} // namespace troupe::bench
