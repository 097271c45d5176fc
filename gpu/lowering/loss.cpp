#include "gpu/kernels/loss.hpp"

#include "gpu/lowering/lowering.hpp"

namespace troupe::gpu {

namespace {

struct Rows {
  int rows, classes;
  explicit Rows(const Tensor& logits)
      : rows{static_cast<int>(logits.shape[0])}, classes{static_cast<int>(logits.shape[1])} {}
};

/// Returns the loss scale, an optional third input of nodes that compute a gradient.
const float* loss_scale(const Node& node, const Launch& l) {
  return node.inputs.size() > 2 ? l.data<float>(node.inputs[2]) : nullptr;
}

/// Whether the target is labels; otherwise it is values.
bool has_labels(const Lowering& lowering, const Node& node) {
  return lowering.input(node, 1).dtype == DType::i32;
}

SquaredError squared_error(const Node& node, bool labels, const Rows& size, const Launch& l) {
  return {.prediction = l.data<float>(node.inputs[0]),
          .values = labels ? nullptr : l.data<float>(node.inputs[1]),
          .labels = labels ? l.data<std::int32_t>(node.inputs[1]) : nullptr,
          .rows = size.rows,
          .columns = size.classes,
          .attributes = std::get<LossAttributes>(node.attributes)};
}

} // namespace

Result<StepPtr> lower_softmax_cross_entropy(Lowering& lowering, const Node& node) {
  return kernel_step(node.op, [node, size = Rows{lowering.input(node, 0)},
                               a = std::get<LossAttributes>(node.attributes)](const Launch& l) {
    auto* const of_logits = l.data<float>(node.outputs[1]);
    launch_softmax_cross_entropy(l.stream,
                                 {.logits = l.data<float>(node.inputs[0]),
                                  .labels = l.data<std::int32_t>(node.inputs[1]),
                                  .rows = size.rows,
                                  .classes = size.classes,
                                  .attributes = a,
                                  .loss = l.data<float>(node.outputs[0]),
                                  .probabilities = a.gradient ? nullptr : of_logits,
                                  .dlogits = a.gradient ? of_logits : nullptr,
                                  .loss_scale = loss_scale(node, l),
                                  .correct = a.correct ? l.data<float>(node.outputs[3]) : nullptr,
                                  .counted = l.data<float>(node.outputs[2])},
                                 l.reductions);
  });
}

Result<StepPtr> lower_softmax_cross_entropy_backward(Lowering& lowering, const Node& node) {
  return kernel_step(node.op, [node, size = Rows{lowering.input(node, 0)},
                               attributes =
                                   std::get<LossAttributes>(node.attributes)](const Launch& l) {
    launch_softmax_cross_entropy_backward(
        l.stream, l.data<float>(node.inputs[0]), l.data<std::int32_t>(node.inputs[1]), size.rows,
        size.classes, attributes, loss_scale(node, l), l.data<float>(node.outputs[0]));
  });
}

Result<StepPtr> lower_mean_squared_error(Lowering& lowering, const Node& node) {
  return kernel_step(node.op, [node, labels = has_labels(lowering, node),
                               size = Rows{lowering.input(node, 0)}](const Launch& l) {
    launch_mean_squared_error(l.stream, squared_error(node, labels, size, l),
                              l.data<float>(node.outputs[0]), l.data<float>(node.outputs[1]));
  });
}

Result<StepPtr> lower_mean_squared_error_backward(Lowering& lowering, const Node& node) {
  return kernel_step(node.op, [node, labels = has_labels(lowering, node),
                               size = Rows{lowering.input(node, 0)}](const Launch& l) {
    launch_mean_squared_error_backward(l.stream, squared_error(node, labels, size, l),
                                       loss_scale(node, l), l.data<float>(node.outputs[0]));
  });
}

Result<StepPtr> lower_count_correct(Lowering& lowering, const Node& node) {
  return kernel_step(node.op, [node, size = Rows{lowering.input(node, 0)}](const Launch& l) {
    launch_count_correct(l.stream, l.data<float>(node.inputs[0]),
                         l.data<std::int32_t>(node.inputs[1]), size.rows, size.classes,
                         l.data<float>(node.outputs[0]));
  });
}

} // namespace troupe::gpu
