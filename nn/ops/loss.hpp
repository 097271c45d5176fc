/// Losses, and counts of correct predictions.
#pragma once

#include "nn/ops/detail/products.hpp"

namespace troupe::nn::ops {

inline TensorType scalar() {
  return {Shape{}, DType::f32};
}

inline Status expect_prediction(Types inputs) {
  TROUPE_TRY(expect_count(inputs, 2));
  TROUPE_TRY(expect_rank(inputs[0], 2, "the prediction (N, C)"));
  if (inputs[0].dtype != DType::f32)
    return wrong("the prediction must be f32, is {}", to_string(inputs[0].dtype));
  return {};
}

inline Status expect_labels(Types inputs) {
  return expect_type(inputs[1], {{inputs[0].shape[0]}, DType::i32}, "labels");
}

inline OutputTypes infer_softmax_cross_entropy(const Attributes& attributes, Types inputs) {
  const auto& a = std::get<LossAttributes>(attributes);
  if (a.gradient && inputs.size() == 3) {
    TROUPE_TRY(expect_type(inputs[2], scalar(), "loss_scale"));
    inputs = inputs.first(2);
  }
  TROUPE_TRY(expect_prediction(inputs));
  TROUPE_TRY(expect_labels(inputs));
  std::vector outputs{scalar(), inputs[0], scalar()};
  if (a.correct)
    outputs.push_back(scalar());
  return outputs;
}

inline Status differentiate_softmax_cross_entropy(Propagation& to, const Node& node, TensorId) {
  to.propagate(Op::softmax_cross_entropy_backward, node, 0, {node.outputs[1], node.inputs[1]});
  return {};
}

inline constexpr OpRecord softmax_cross_entropy = {
    .op = Op::softmax_cross_entropy,
    .kind = OpKind::loss,
    .infer = infer_softmax_cross_entropy,
    // All of it is f32, as documented; inside, PyTorch 2.14 on CUDA leaves log_softmax in f16.
    .autocast = Autocast{AutocastRule::fp32, "cross_entropy"},
    .gradient = differentiate_softmax_cross_entropy,
    .flows_to = InputSet::only({0}),
};

inline OutputTypes infer_mean_squared_error(const Attributes&, Types inputs) {
  TROUPE_TRY(expect_prediction(inputs));
  if (inputs[1].dtype == DType::f32)
    TROUPE_TRY(expect_type(inputs[1], inputs[0], "the target"));
  else
    TROUPE_TRY(expect_labels(inputs));
  return std::vector{scalar(), scalar()};
}

inline Status differentiate_mean_squared_error(Propagation& to, const Node& node, TensorId) {
  to.propagate(Op::mean_squared_error_backward, node, 0, {node.inputs[0], node.inputs[1]});
  return {};
}

inline constexpr OpRecord mean_squared_error = {
    .op = Op::mean_squared_error,
    .kind = OpKind::loss,
    .infer = infer_mean_squared_error,
    .autocast = Autocast{AutocastRule::fp32, "mse_loss"},
    .gradient = differentiate_mean_squared_error,
    .flows_to = InputSet::only({0}),
};

inline OutputTypes infer_count_correct(const Attributes&, Types inputs) {
  TROUPE_TRY(expect_prediction(inputs));
  TROUPE_TRY(expect_labels(inputs));
  return std::vector{scalar()};
}

inline constexpr OpRecord count_correct = {
    .op = Op::count_correct,
    .infer = infer_count_correct,
    .autocast = Autocast{AutocastRule::fp32},
    .flows_to = InputSet::none(),
};

/// The prediction or the tensor saved from it, target [, loss_scale] -> gradient of the prediction.
template <Op loss>
Status check_loss_backward(const Attributes&, Types in, Types out) {
  TROUPE_TRY(expect_count(in, 2, 3));
  TROUPE_TRY(expect_outputs(out, 1));
  TROUPE_TRY(infer_outputs(loss, LossAttributes{}, in.first(2)));
  if (in.size() == 3)
    TROUPE_TRY(expect_type(in[2], scalar(), "loss_scale"));
  return expect_type(out[0], in[0], "dprediction");
}

inline constexpr OpRecord softmax_cross_entropy_backward = {
    .op = Op::softmax_cross_entropy_backward,
    .kind = OpKind::backward,
    .check = check_loss_backward<Op::softmax_cross_entropy>,
    .takes_loss_scale = true,
};

inline constexpr OpRecord mean_squared_error_backward = {
    .op = Op::mean_squared_error_backward,
    .kind = OpKind::backward,
    .check = check_loss_backward<Op::mean_squared_error>,
    .takes_loss_scale = true,
};

/// Checks x, weight and labels, which have one value for each row.
inline Status expect_rows_and_labels(Types inputs) {
  const auto &x = inputs[0], &weight = inputs[1], &labels = inputs[2];
  TROUPE_TRY(expect_rank(x, 2, "x (N, C)"));
  TROUPE_TRY(expect_floating(x, "x"));
  TROUPE_TRY(expect_rank(weight, 2, "weight (V, C)"));
  TROUPE_TRY(expect_weight(weight, x));
  if (x.shape[1] != weight.shape[1])
    return wrong("x has {} features, the weight takes {}", x.shape[1], weight.shape[1]);
  if (labels.dtype != DType::i32 || labels.shape.elements() != x.shape[0])
    return wrong("labels must be {} values of i32, are {} {}", x.shape[0], to_string(labels.dtype),
                 labels.shape.to_string());
  return {};
}

inline OutputTypes infer_linear_cross_entropy(const Attributes&, Types inputs) {
  TROUPE_TRY(expect_count(inputs, 3));
  TROUPE_TRY(expect_rows_and_labels(inputs));
  return std::vector{scalar(), TensorType{{inputs[0].shape[0]}, DType::f32}, scalar()};
}

inline Status differentiate_linear_cross_entropy(Propagation& to, const Node& node, TensorId) {
  to.propagate_all(Op::linear_cross_entropy_backward, node, {0, 1},
                   {node.inputs[0], node.inputs[1], node.inputs[2], node.outputs[1]});
  return {};
}

/// Returns the cost of multiplying all rows by the weight.
inline NodeCost cost_of_logits(const Graph& graph, const Node& node) {
  auto cost = cost_of_moving(graph, node);
  cost.operations = 2.0 * static_cast<double>(graph[node.inputs[0]].shape[0]) *
                    static_cast<double>(graph[node.inputs[1]].shape.elements());
  return cost;
}

/// Returns the cost of the logits and two gradients. The logits repeat those of forward, unless
/// this node also computes the loss.
inline NodeCost cost_of_logits_backward(const Graph& graph, const Node& node) {
  auto cost = cost_of_logits(graph, node);
  if (!std::get<LossAttributes>(node.attributes).loss)
    cost.repeated = cost.operations;
  cost.operations *= 3;
  return cost;
}

inline constexpr OpRecord linear_cross_entropy = {
    .op = Op::linear_cross_entropy,
    .kind = OpKind::loss,
    .infer = infer_linear_cross_entropy,
    // PyTorch's rule for linear. The cross-entropy itself is in f32, as in PyTorch.
    .autocast = Autocast{AutocastRule::lower_precision},
    .rounded = InputSet::only({1}),
    .gradient = differentiate_linear_cross_entropy,
    .flows_to = InputSet::only({0, 1}),
    .cost = cost_of_logits,
};

/// The loss scale is the last input, if present.
inline Status check_linear_cross_entropy_backward(const Attributes& attributes, Types in,
                                                  Types out) {
  const bool loss = std::get<LossAttributes>(attributes).loss;
  const std::size_t inputs = loss ? 3 : 4;
  TROUPE_TRY(expect_count(in, inputs, inputs + 1));
  TROUPE_TRY(expect_outputs(out, loss ? 4 : 2));
  TROUPE_TRY(expect_rows_and_labels(in));
  if (!loss)
    TROUPE_TRY(expect_type(in[3], {{in[0].shape[0]}, DType::f32}, "saved_log_sum_exp"));
  if (in.size() > inputs)
    TROUPE_TRY(expect_type(in.back(), scalar(), "loss_scale"));
  TROUPE_TRY(expect_type(out[0], in[0], "dx"));
  TROUPE_TRY(expect_type(out[1], {in[1].shape, DType::f32}, "dweight"));
  for (std::size_t i = 2; i < out.size(); ++i)
    TROUPE_TRY(expect_type(out[i], scalar(), i == 2 ? "loss" : "counted"));
  return {};
}

inline constexpr OpRecord linear_cross_entropy_backward = {
    .op = Op::linear_cross_entropy_backward,
    .kind = OpKind::backward,
    .check = check_linear_cross_entropy_backward,
    .rounded = InputSet::only({1}),
    .takes_loss_scale = true,
    .cost = cost_of_logits_backward,
};

} // namespace troupe::nn::ops
