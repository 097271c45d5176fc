#include "nn/builder.hpp"

#include "core/fail.hpp"
#include "nn/validate.hpp"

#include <cmath>

namespace troupe::nn {

void GraphBuilder::begin_unit(std::string name) {
  graph_.units.push_back(std::move(name));
}

TensorId GraphBuilder::add_tensor(std::string name, Shape shape, DType dtype, Role role,
                                  Initial initial) {
  if (!status_)
    return -1;
  return graph_.add_tensor({.name = std::move(name),
                            .shape = std::move(shape),
                            .dtype = dtype,
                            .role = role,
                            .unit = unit(),
                            .initial = initial});
}

TensorId GraphBuilder::input(std::string name, Shape shape, DType dtype) {
  return add_tensor(std::move(name), std::move(shape), dtype, Role::input);
}

TensorId GraphBuilder::target(std::string name, Shape shape, DType dtype) {
  return add_tensor(std::move(name), std::move(shape), dtype, Role::target);
}

TensorId GraphBuilder::parameter(std::string name, Shape shape, Initial initial) {
  return add_tensor(std::move(name), std::move(shape), DType::f32, Role::parameter, initial);
}

TensorId GraphBuilder::statistic(std::string name, Shape shape, Initial initial) {
  return add_tensor(std::move(name), std::move(shape), DType::f32, Role::statistic, initial);
}

const Shape& GraphBuilder::shape(TensorId id) const {
  static const Shape scalar;
  return id < 0 ? scalar : graph_[id].shape;
}

Shape GraphBuilder::channels_of(TensorId x) const {
  return {shape(x).rank() == 0 ? 0 : shape(x).dims.back()};
}

TensorId GraphBuilder::apply(Op op, const std::string& name, std::vector<TensorId> inputs,
                             Attributes attributes, const std::vector<std::string>& suffixes) {
  if (!status_)
    return -1;
  std::vector<TensorType> types;
  for (const auto id : inputs)
    types.push_back({graph_[id].shape, graph_[id].dtype});
  const auto outputs = infer_outputs(op, attributes, types);
  if (!outputs) {
    status_ = fail(outputs.error().code, "{}: {}", name, outputs.error().message);
    return -1;
  }
  Node node{op, std::move(inputs), {}, std::move(attributes), Phase::forward, unit()};
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    const auto& type = (*outputs)[i];
    const bool scalar = type.shape.rank() == 0;
    node.outputs.push_back(add_tensor(
        i == 0 ? name
               : fmt::format("{}.{}", name, i <= suffixes.size() ? suffixes[i - 1] : "saved"),
        type.shape, type.dtype, scalar ? Role::output : Role::activation));
  }
  const auto first = node.outputs.front();
  graph_.add_node(std::move(node));
  return first;
}

TensorId GraphBuilder::conv2d(const std::string& name, TensorId x, std::int64_t out,
                              const Conv2dAttributes& attributes) {
  const auto in = shape(x).rank() == 4 ? shape(x)[3] : 0;
  const auto fan_out = static_cast<double>(out * attributes.kernel * attributes.kernel);
  const auto weight = parameter(name + ".weight", {out, in, attributes.kernel, attributes.kernel},
                                Initial::normal(std::sqrt(2.0 / fan_out)));
  return apply(Op::conv2d, name, {x, weight}, attributes);
}

TensorId GraphBuilder::batch_norm(const std::string& name, TensorId x, bool training) {
  const auto channels = channels_of(x);
  const auto scale = parameter(name + ".weight", channels, Initial::constant(1));
  const auto shift = parameter(name + ".bias", channels, Initial::constant(0));
  const auto mean = statistic(name + ".running_mean", channels, Initial::constant(0));
  const auto variance = statistic(name + ".running_var", channels, Initial::constant(1));
  return apply(Op::batch_norm, name, {x, scale, shift, mean, variance},
               BatchNormAttributes{.training = training}, {"saved_mean", "saved_inv_std"});
}

TensorId GraphBuilder::layer_norm(const std::string& name, TensorId x,
                                  const LayerNormAttributes& attributes) {
  const auto channels = channels_of(x);
  const auto scale = parameter(name + ".weight", channels, Initial::constant(1));
  const auto shift = parameter(name + ".bias", channels, Initial::constant(0));
  return apply(Op::layer_norm, name, {x, scale, shift}, attributes,
               {"saved_mean", "saved_inv_std"});
}

TensorId GraphBuilder::relu(const std::string& name, TensorId x) {
  return apply(Op::relu, name, {x});
}

TensorId GraphBuilder::gelu(const std::string& name, TensorId x, const GeluAttributes& attributes) {
  return apply(Op::gelu, name, {x}, attributes);
}

TensorId GraphBuilder::add(const std::string& name, TensorId a, TensorId b) {
  return apply(Op::add, name, {a, b});
}

TensorId GraphBuilder::max_pool(const std::string& name, TensorId x,
                                const PoolAttributes& attributes) {
  return apply(Op::max_pool, name, {x}, attributes, {"index"});
}

TensorId GraphBuilder::avg_pool(const std::string& name, TensorId x,
                                const PoolAttributes& attributes) {
  return apply(Op::avg_pool, name, {x}, attributes);
}

TensorId GraphBuilder::global_avg_pool(const std::string& name, TensorId x) {
  if (shape(x).rank() != 4)
    return avg_pool(name, x, {});
  return avg_pool(name, x, {.kernel_h = shape(x)[1], .kernel_w = shape(x)[2], .stride = 1});
}

TensorId GraphBuilder::subsample_pad(const std::string& name, TensorId x,
                                     const SubsamplePadAttributes& attributes) {
  return apply(Op::subsample_pad, name, {x}, attributes);
}

TensorId GraphBuilder::flatten(const std::string& name, TensorId x) {
  return apply(Op::flatten, name, {x});
}

TensorId GraphBuilder::linear(const std::string& name, TensorId x, std::int64_t out,
                              const LinearOptions& options) {
  const auto in = shape(x).rank() == 2 ? shape(x)[1] : 0;
  const auto default_value = Initial::uniform(1.0 / std::sqrt(static_cast<double>(in)));
  const auto& output = options.output.empty() ? name : options.output;
  const auto weight =
      parameter(name + ".weight", {out, in}, options.weight.value_or(default_value));
  if (!options.bias)
    return apply(Op::matmul, output, {x, weight});
  const auto bias =
      parameter(name + ".bias", {out}, options.weight ? Initial::constant(0) : default_value);
  const auto product = apply(Op::matmul, name + ".product", {x, weight});
  return apply(Op::bias, output, {product, bias});
}

TensorId GraphBuilder::softmax_cross_entropy(const std::string& name, TensorId logits,
                                             TensorId labels, float label_smoothing) {
  return apply(Op::softmax_cross_entropy, name, {logits, labels},
               LossAttributes{.label_smoothing = label_smoothing}, {"probabilities", "counted"});
}

TensorId GraphBuilder::mean_squared_error(const std::string& name, TensorId prediction,
                                          TensorId target) {
  return apply(Op::mean_squared_error, name, {prediction, target}, LossAttributes{}, {"counted"});
}

TensorId GraphBuilder::count_correct(const std::string& name, TensorId logits, TensorId labels) {
  return apply(Op::count_correct, name, {logits, labels});
}

Result<Graph> GraphBuilder::finish() && {
  if (!status_)
    return failure(std::move(status_).error());
  TROUPE_TRY(validate(graph_));
  return std::move(graph_);
}

} // namespace troupe::nn
