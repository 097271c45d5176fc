// Translates ops to ONNX: one function per op, which adds the op's nodes to a draft.
#include "nn/onnx/draft.hpp"

#include "core/fail.hpp"

#include <algorithm>
#include <array>

namespace troupe::nn::onnx {

namespace {

std::vector<std::int64_t> on_all_sides(std::int64_t padding) {
  return {padding, padding, padding, padding};
}

/// Adds one node with the same inputs.
Status add_plain(Draft& draft, const Node& node, std::string_view op_type,
                 const Attributes& attributes = {}) {
  std::vector<std::string> inputs;
  for (const auto id : node.inputs)
    inputs.push_back(draft.input(id));
  draft.add_node(op_type, inputs, draft.output(node.outputs[0]), attributes);
  return {};
}

Status conv2d(Draft& draft, const Node& node) {
  const auto& a = std::get<Conv2dAttributes>(node.attributes);
  return add_plain(draft, node, "Conv",
                   {integers_attribute("kernel_shape", {a.kernel, a.kernel}),
                    integers_attribute("strides", {a.stride, a.stride}),
                    integers_attribute("pads", on_all_sides(a.padding))});
}

Status batch_norm(Draft& draft, const Node& node) {
  const auto& a = std::get<BatchNormAttributes>(node.attributes);
  return add_plain(draft, node, "BatchNormalization", {real_attribute("epsilon", a.eps)});
}

Status layer_norm(Draft& draft, const Node& node) {
  if (draft.tensor(node.inputs[0]).shape.rank() == 4)
    return fail(Errc::unsupported, "a layer_norm of images cannot be exported to ONNX");
  return add_plain(draft, node, "LayerNormalization",
                   {integer_attribute("axis", -1),
                    real_attribute("epsilon", std::get<LayerNormAttributes>(node.attributes).eps)});
}

Status relu(Draft& draft, const Node& node) {
  return add_plain(draft, node, "Relu");
}

Status add(Draft& draft, const Node& node) {
  return add_plain(draft, node, "Add");
}

std::vector<Message> windows(const PoolAttributes& a) {
  return {integers_attribute("kernel_shape", {a.kernel_h, a.kernel_w}),
          integers_attribute("strides", {a.stride, a.stride}),
          integers_attribute("pads", on_all_sides(a.padding))};
}

Status max_pool(Draft& draft, const Node& node) {
  return add_plain(draft, node, "MaxPool", windows(std::get<PoolAttributes>(node.attributes)));
}

/// The average excludes padding, which is ONNX's default.
Status avg_pool(Draft& draft, const Node& node) {
  const auto& a = std::get<PoolAttributes>(node.attributes);
  const auto& x = draft.tensor(node.inputs[0]).shape;
  const bool global = a.kernel_h == x[1] && a.kernel_w == x[2] && a.padding == 0;
  return global ? add_plain(draft, node, "GlobalAveragePool")
                : add_plain(draft, node, "AveragePool", windows(a));
}

Status subsample_pad(Draft& draft, const Node& node) {
  const auto& a = std::get<SubsamplePadAttributes>(node.attributes);
  const auto name = draft.output(node.outputs[0]);
  constexpr std::int64_t whole = INT64_MAX;
  draft.add_node("Slice",
                 {draft.input(node.inputs[0]), draft.integers(name + ".starts", {0, 0}),
                  draft.integers(name + ".ends", {whole, whole}),
                  draft.integers(name + ".axes", {2, 3}),
                  draft.integers(name + ".steps", {a.stride, a.stride})},
                 name + ".subsampled");
  draft.add_node("Pad",
                 {name + ".subsampled",
                  draft.integers(name + ".pads", {0, a.pad_before, 0, 0, 0, a.pad_after, 0, 0})},
                 name);
  return {};
}

/// Flattens samples in the order (H, W, C).
Status flatten(Draft& draft, const Node& node) {
  const auto& x = draft.tensor(node.inputs[0]).shape;
  auto input = draft.input(node.inputs[0]);
  const auto output = draft.output(node.outputs[0]);
  if (x.rank() == 4 && x[3] > 1 && x[1] * x[2] > 1) {
    draft.add_node("Transpose", {input}, output + ".nhwc",
                   {integers_attribute("perm", {0, 2, 3, 1})});
    input = output + ".nhwc";
  }
  draft.add_node("Flatten", {input}, output, {integer_attribute("axis", 1)});
  return {};
}

Status matmul(Draft& draft, const Node& node) {
  return add_plain(draft, node, "Gemm", {integer_attribute("transB", 1)});
}

struct Form {
  Op op;
  Status (*add)(Draft&, const Node&);
};

constexpr std::array forms = {
    Form{Op::conv2d, conv2d},
    Form{Op::batch_norm, batch_norm},
    Form{Op::layer_norm, layer_norm},
    Form{Op::relu, relu},
    Form{Op::add, add},
    Form{Op::max_pool, max_pool},
    Form{Op::avg_pool, avg_pool},
    Form{Op::subsample_pad, subsample_pad},
    Form{Op::flatten, flatten},
    Form{Op::matmul, matmul},
    Form{Op::bias, add},
};

} // namespace

Status add_node(Draft& draft, const Node& node) {
  const auto* const form = std::ranges::find(forms, node.op, &Form::op);
  if (form == forms.end())
    return fail(Errc::unsupported, "the op {} (of {}) cannot be exported to ONNX",
                to_string(node.op), draft.tensor(node.outputs[0]).name);
  return form->add(draft, node);
}

} // namespace troupe::nn::onnx
