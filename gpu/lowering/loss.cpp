#include "../kernels/loss.hpp"

#include "lowering.hpp"

namespace troupe::gpu {

namespace {

struct Rows {
  int rows, classes;
  explicit Rows(const Tensor& logits)
      : rows{static_cast<int>(logits.shape[0])}, classes{static_cast<int>(logits.shape[1])} {}
};

/// Backward ops may have a loss scale behind their two inputs.
const float* loss_scale(const Node& node, const Launch& l) {
  return node.inputs.size() > 2 ? l.data<float>(node.inputs[2]) : nullptr;
}

StepPtr lower_cross_entropy(const Lowering& lowering, const Node& node) {
  return kernel_step(
      node.op, [node, size = Rows{lowering.input(node, 0)},
                attributes = std::get<LossAttributes>(node.attributes)](const Launch& l) {
        launch_softmax_cross_entropy(l.stream,
                                     {.logits = l.data<float>(node.inputs[0]),
                                      .labels = l.data<std::int32_t>(node.inputs[1]),
                                      .rows = size.rows,
                                      .classes = size.classes,
                                      .attributes = attributes,
                                      .loss = l.data<float>(node.outputs[0]),
                                      .probabilities = l.data<float>(node.outputs[1])},
                                     l.reductions);
      });
}

StepPtr lower_cross_entropy_backward(const Lowering& lowering, const Node& node) {
  return kernel_step(node.op, [node, size = Rows{lowering.input(node, 0)},
                               attributes =
                                   std::get<LossAttributes>(node.attributes)](const Launch& l) {
    launch_softmax_cross_entropy_backward(
        l.stream, l.data<float>(node.inputs[0]), l.data<std::int32_t>(node.inputs[1]), size.rows,
        size.classes, attributes, loss_scale(node, l), l.data<float>(node.outputs[0]));
  });
}

StepPtr lower_squared_error(const Lowering& lowering, const Node& node) {
  const bool labels = lowering.input(node, 1).dtype == DType::i32;
  return kernel_step(
      node.op, [node, labels, size = Rows{lowering.input(node, 0)},
                attributes = std::get<LossAttributes>(node.attributes)](const Launch& l) {
        const SquaredError error{.prediction = l.data<float>(node.inputs[0]),
                                 .values = labels ? nullptr : l.data<float>(node.inputs[1]),
                                 .labels = labels ? l.data<std::int32_t>(node.inputs[1]) : nullptr,
                                 .rows = size.rows,
                                 .columns = size.classes,
                                 .attributes = attributes};
        if (node.op == Op::mean_squared_error)
          launch_mean_squared_error(l.stream, error, l.data<float>(node.outputs[0]));
        else
          launch_mean_squared_error_backward(l.stream, error, loss_scale(node, l),
                                             l.data<float>(node.outputs[0]));
      });
}

StepPtr lower_count(const Lowering& lowering, const Node& node) {
  return kernel_step(node.op, [node, size = Rows{lowering.input(node, 0)}](const Launch& l) {
    launch_count_correct(l.stream, l.data<float>(node.inputs[0]),
                         l.data<std::int32_t>(node.inputs[1]), size.rows, size.classes,
                         l.data<float>(node.outputs[0]));
  });
}

} // namespace

Result<StepPtr> lower_loss(Lowering& lowering, const Node& node) {
  switch (node.op) {
  case Op::softmax_cross_entropy:
    return lower_cross_entropy(lowering, node);
  case Op::softmax_cross_entropy_backward:
    return lower_cross_entropy_backward(lowering, node);
  case Op::count_correct:
    return lower_count(lowering, node);
  default:
    return lower_squared_error(lowering, node);
  }
}

} // namespace troupe::gpu
