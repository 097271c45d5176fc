/// Embedding tables, indexed by id or by position, and parameters that several units read.
#pragma once

#include "nn/ops/detail/shape_checks.hpp"

namespace troupe::nn::ops {

inline Status expect_table(const TensorType& table) {
  TROUPE_TRY(expect_rank(table, 2, "the table (V, C)"));
  if (table.dtype != DType::f32)
    return wrong("the table must be f32, is {}", to_string(table.dtype));
  return {};
}

inline OutputTypes infer_embedding(const Attributes&, Types inputs) {
  TROUPE_TRY(expect_count(inputs, 2));
  const auto &ids = inputs[0], &table = inputs[1];
  if (ids.dtype != DType::i32)
    return wrong("ids must be i32, are {}", to_string(ids.dtype));
  TROUPE_TRY(expect_table(table));
  return std::vector{TensorType{{ids.shape.elements(), table.shape[1]}, DType::f32}};
}

inline Status differentiate_embedding(Propagation& to, const Node& node, TensorId dy) {
  to.propagate(Op::embedding_backward, node, 1, {dy, node.inputs[0]});
  return {};
}

/// Returns the cost of reading a row for each id, not the whole table.
inline NodeCost cost_of_embedding(const Graph& graph, const Node& node) {
  NodeCost cost;
  for (const auto id : {node.inputs[0], node.outputs[0], node.outputs[0]})
    cost.bytes += static_cast<double>(bytes_of(graph[id]));
  return cost;
}

inline constexpr OpRecord embedding = {
    .op = Op::embedding,
    .infer = infer_embedding,
    // It has the type of its table, which is f32.
    .autocast = Autocast{AutocastRule::follow, "embedding"},
    .gradient = differentiate_embedding,
    .flows_to = InputSet::only({1}),
    .clone = same_node,
    .cost = cost_of_embedding,
};

inline constexpr auto embedding_backward =
    backward_op(Op::embedding_backward, check_weight_gradient<Op::embedding>);

inline OutputTypes infer_position_embedding(const Attributes& attributes, Types inputs) {
  const auto sequence = std::get<PositionAttributes>(attributes).sequence;
  TROUPE_TRY(expect_count(inputs, 2, 3));
  const auto &x = inputs[0], &table = inputs[1];
  TROUPE_TRY(expect_rank(x, 2, "x (N, C)"));
  if (x.dtype != DType::f32)
    return wrong("x must be f32, is {}", to_string(x.dtype));
  TROUPE_TRY(expect_table(table));
  if (sequence < 1 || x.shape[0] % sequence != 0)
    return wrong("{} rows are not a multiple of the sequence length {}", x.shape[0], sequence);
  if (table.shape[0] < sequence || table.shape[1] != x.shape[1])
    return wrong("the table must be ({} or more, {}), is {}", sequence, x.shape[1],
                 table.shape.to_string());
  if (inputs.size() == 3)
    TROUPE_TRY(expect_first(inputs[2]));
  return std::vector{x};
}

inline Status differentiate_position_embedding(Propagation& to, const Node& node, TensorId dy) {
  TROUPE_TRY(refuse_first(node, 2));
  to.propagate(Op::position_embedding_backward, node, 1, {dy});
  return to.pass_on(node, 0, dy);
}

inline constexpr OpRecord position_embedding = {
    .op = Op::position_embedding,
    .infer = infer_position_embedding,
    .autocast = Autocast{AutocastRule::fp32},
    .gradient = differentiate_position_embedding,
    .flows_to = InputSet::only({0, 1}),
    .clone = same_node,
    .in_place = 1,
};

inline constexpr auto position_embedding_backward =
    backward_op(Op::position_embedding_backward, check_addend_gradient<Op::position_embedding>);

inline OutputTypes infer_share(const Attributes&, Types inputs) {
  TROUPE_TRY(expect_count(inputs, 1));
  if (inputs[0].dtype != DType::f32)
    return wrong("the shared tensor must be f32, is {}", to_string(inputs[0].dtype));
  return std::vector{inputs[0]};
}

// A unit reads only its own parameters, so that each is communicated in one bucket. If another unit
// also reads a parameter, it reads an activation instead, whose gradient flows back like any other.
inline constexpr OpRecord share = {
    .op = Op::share,
    .infer = infer_share,
    .autocast = Autocast{AutocastRule::fp32},
    .gradient = propagate_dy<Op::share>,
    .clone = same_node,
    // Only backward uses this, because its input gradient is not used afterwards; a parameter is
    // never overwritten.
    .in_place = 1,
};

} // namespace troupe::nn::ops
