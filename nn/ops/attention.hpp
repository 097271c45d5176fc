/// Attention over rows of sequences, with or without cached earlier rows, and rotary position
/// embedding.
#pragma once

#include "nn/ops/detail/shape_checks.hpp"

namespace troupe::nn::ops {

/// Checks that the rows of x are whole sequences of heads.
inline Status expect_heads(const TensorType& x, std::int64_t sequence, std::int64_t heads,
                           std::int64_t head_dim, const char* what) {
  TROUPE_TRY(expect_rank(x, 2, what));
  TROUPE_TRY(expect_floating(x, what));
  if (sequence < 1 || x.shape[0] % sequence != 0)
    return wrong("{} has {} rows, which is not a multiple of the sequence length {}", what,
                 x.shape[0], sequence);
  if (heads < 1 || head_dim < 1 || x.shape[1] != heads * head_dim)
    return wrong("{} has {} columns, not {} heads of {}", what, x.shape[1], heads, head_dim);
  return {};
}

inline OutputTypes infer_rope(const Attributes& attributes, Types inputs) {
  const auto& a = std::get<RopeAttributes>(attributes);
  TROUPE_TRY(expect_count(inputs, 1, 2));
  TROUPE_TRY(expect_heads(inputs[0], a.sequence, a.heads, a.head_dim, "x"));
  if (a.head_dim % 2 != 0)
    return wrong("rotates pairs, but a head has {} elements", a.head_dim);
  if (inputs.size() == 2)
    TROUPE_TRY(expect_first(inputs[1]));
  return std::vector{inputs[0]};
}

inline Status differentiate_rope(Propagation& to, const Node& node, TensorId dy) {
  TROUPE_TRY(refuse_first(node, 1));
  return propagate_dy<Op::rope_backward>(to, node, dy);
}

inline constexpr OpRecord rope = {
    .op = Op::rope,
    .infer = infer_rope,
    .autocast = Autocast{AutocastRule::follow},
    .gradient = differentiate_rope,
    .flows_to = InputSet::only({0}),
    .clone = same_node,
    .in_place = 1,
};

inline constexpr auto rope_backward = backward_op(Op::rope_backward, check_inverse<Op::rope>, 1);

inline OutputTypes infer_causal_attention(const Attributes& attributes, Types inputs) {
  const auto& a = std::get<AttentionAttributes>(attributes);
  if (a.kv_heads < 1 || a.heads % a.kv_heads != 0)
    return wrong("{} heads cannot share {} heads of keys and values", a.heads, a.kv_heads);
  if (inputs.size() == 1) {
    TROUPE_TRY(
        expect_heads(inputs[0], a.sequence, a.heads + 2 * a.kv_heads, a.head_dim, "q, k and v"));
  } else {
    TROUPE_TRY(expect_count(inputs, 3));
    TROUPE_TRY(expect_heads(inputs[0], a.sequence, a.heads, a.head_dim, "q"));
    const TensorType kv{{inputs[0].shape[0], a.kv_heads * a.head_dim}, inputs[0].dtype};
    TROUPE_TRY(expect_type(inputs[1], kv, "k"));
    TROUPE_TRY(expect_type(inputs[2], kv, "v"));
  }
  const auto rows = inputs[0].shape[0];
  return std::vector{TensorType{{rows, a.heads * a.head_dim}, inputs[0].dtype},
                     TensorType{{rows / a.sequence * a.heads, a.sequence}, DType::f32}};
}

inline Status differentiate_causal_attention(Propagation& to, const Node& node, TensorId dy) {
  std::vector<TensorId> reads = {dy};
  reads.insert(reads.end(), node.inputs.begin(), node.inputs.end());
  reads.insert(reads.end(), node.outputs.begin(), node.outputs.end());
  const bool in_one = node.inputs.size() == 1;
  to.propagate_all(Op::causal_attention_backward, node,
                   in_one ? std::vector<std::size_t>{0} : std::vector<std::size_t>{0, 1, 2},
                   std::move(reads));
  return {};
}

/// Returns the cost of `products` matrix products, each with half of a sequence's rows squared. `y`
/// is y or dy.
inline NodeCost cost_of_attention(const Graph& graph, const Node& node, TensorId y,
                                  double products) {
  auto cost = cost_of_moving(graph, node);
  const auto sequence = std::get<AttentionAttributes>(node.attributes).sequence;
  cost.operations = products * static_cast<double>(graph[y].shape.elements() * sequence);
  return cost;
}

inline NodeCost cost_of_attention_forward(const Graph& graph, const Node& node) {
  return cost_of_attention(graph, node, node.outputs[0], 2);
}

inline constexpr OpRecord causal_attention = {
    .op = Op::causal_attention,
    .infer = infer_causal_attention,
    .autocast = Autocast{AutocastRule::lower_precision, "scaled_dot_product_attention"},
    .gradient = differentiate_causal_attention,
    .clone = same_node,
    .cost = cost_of_attention_forward,
};

inline OutputTypes infer_cached_attention(const Attributes& attributes, Types inputs) {
  const auto& a = std::get<AttentionAttributes>(attributes);
  if (inputs.size() != 4 && inputs.size() != 6)
    return wrong("takes q, k and v, or all in one, then keys, values and first; has {} inputs",
                 inputs.size());
  const auto rows = inputs.first(inputs.size() - 3), cached = inputs.last(3);
  TROUPE_TRY(auto outputs, infer_causal_attention(attributes, rows));
  TROUPE_TRY(expect_rank(cached[0], 2, "the cached keys"));
  const auto elements = cached[0].shape[0];
  for (const auto& cache : cached.first(2))
    TROUPE_TRY(expect_type(cache, {{elements, a.head_dim}, DType::f32}, "each cache"));
  const auto heads = rows[0].shape[0] / a.sequence * a.kv_heads;
  if (heads < 1 || elements % heads != 0 || elements / heads < a.sequence)
    return wrong("a cache of {} rows does not fit {} heads and sequences of {}", elements, heads,
                 a.sequence);
  TROUPE_TRY(expect_first(cached[2]));
  outputs.resize(1);
  return outputs;
}

/// Counts all places of the cache as filled, because the position of the rows is not known.
inline NodeCost cost_of_cached_attention(const Graph& graph, const Node& node) {
  auto cost = cost_of_moving(graph, node);
  const auto& a = std::get<AttentionAttributes>(node.attributes);
  const auto& y = graph[node.outputs[0]];
  const auto& keys = graph[node.inputs[node.inputs.size() - 3]];
  const auto places = keys.shape[0] / (y.shape[0] / a.sequence * a.kv_heads);
  cost.operations = 4 * static_cast<double>(y.shape.elements() * places);
  return cost;
}

// For graphs that generate (passes/cache_attention), which are never differentiated.
inline constexpr OpRecord cached_attention = {
    .op = Op::cached_attention,
    .infer = infer_cached_attention,
    .autocast = Autocast{AutocastRule::given},
    .flows_to = InputSet::none(),
    .cost = cost_of_cached_attention,
};

inline Status check_causal_attention_backward(const Attributes& attributes, Types in, Types out) {
  const std::size_t parts = in.size() == 4 ? 1 : 3;
  TROUPE_TRY(expect_counts(in, parts + 3, out, parts));
  const auto from = in.subspan(1, parts);
  TROUPE_TRY(const auto gave, infer_causal_attention(attributes, from));
  TROUPE_TRY(expect_type(in[0], gave[0], "dy"));
  TROUPE_TRY(expect_type(in[parts + 1], gave[0], "y"));
  TROUPE_TRY(expect_type(in[parts + 2], gave[1], "saved_log_sum_exp"));
  for (std::size_t i = 0; i < parts; ++i)
    TROUPE_TRY(expect_type(out[i], from[i], "each gradient"));
  return {};
}

/// Products: the scores again, their gradient, and the gradients of q, k and v.
inline NodeCost cost_of_attention_backward(const Graph& graph, const Node& node) {
  auto cost = cost_of_attention(graph, node, node.inputs[0], 5);
  cost.repeated = cost.operations / 5;
  return cost;
}

inline constexpr OpRecord causal_attention_backward = {
    .op = Op::causal_attention_backward,
    .kind = OpKind::backward,
    .check = check_causal_attention_backward,
    .cost = cost_of_attention_backward,
};

} // namespace troupe::nn::ops
