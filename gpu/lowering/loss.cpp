#include "gpu/kernels/loss.hpp"

#include "gpu/lowering/lowering.hpp"

namespace troupe::gpu {

namespace {

struct Rows {
  int rows, classes;
  explicit Rows(const Tensor& logits)
      : rows{static_cast<int>(logits.shape[0])}, classes{static_cast<int>(logits.shape[1])} {}
};

/// Whether the target is labels; otherwise it is values.
bool has_labels(const Lowering& lowering, const Node& node) {
  return lowering.input(node, 1).dtype == DType::i32;
}

SquaredError squared_error(bool labels, const Rows& size, const NodeLaunch& l) {
  return {.prediction = l.in<float>(0),
          .values = labels ? nullptr : l.in<float>(1),
          .labels = labels ? l.in<std::int32_t>(1) : nullptr,
          .rows = size.rows,
          .columns = size.classes,
          .attributes = l.attributes<LossAttributes>()};
}

} // namespace

Result<StepPtr> lower_softmax_cross_entropy(Lowering& lowering, const Node& node) {
  return kernel_step(node, [size = Rows{lowering.input(node, 0)}](const NodeLaunch& l) {
    const auto& a = l.attributes<LossAttributes>();
    auto* const of_logits = l.out<float>(1);
    launch_softmax_cross_entropy(l.stream,
                                 {.logits = l.in<float>(0),
                                  .labels = l.in<std::int32_t>(1),
                                  .rows = size.rows,
                                  .classes = size.classes,
                                  .attributes = a,
                                  .loss = l.out<float>(0),
                                  .probabilities = a.gradient ? nullptr : of_logits,
                                  .dlogits = a.gradient ? of_logits : nullptr,
                                  .loss_scale = l.in_or_null<float>(2),
                                  .correct = a.correct ? l.out<float>(3) : nullptr,
                                  .counted = l.out<float>(2)},
                                 l.reductions);
  });
}

Result<StepPtr> lower_softmax_cross_entropy_backward(Lowering& lowering, const Node& node) {
  return kernel_step(node, [size = Rows{lowering.input(node, 0)}](const NodeLaunch& l) {
    launch_softmax_cross_entropy_backward(l.stream, l.in<float>(0), l.in<std::int32_t>(1),
                                          size.rows, size.classes, l.attributes<LossAttributes>(),
                                          l.in_or_null<float>(2), l.out<float>(0));
  });
}

Result<StepPtr> lower_mean_squared_error(Lowering& lowering, const Node& node) {
  return kernel_step(node, [labels = has_labels(lowering, node),
                            size = Rows{lowering.input(node, 0)}](const NodeLaunch& l) {
    launch_mean_squared_error(l.stream, squared_error(labels, size, l), l.out<float>(0),
                              l.out<float>(1));
  });
}

Result<StepPtr> lower_mean_squared_error_backward(Lowering& lowering, const Node& node) {
  return kernel_step(node, [labels = has_labels(lowering, node),
                            size = Rows{lowering.input(node, 0)}](const NodeLaunch& l) {
    launch_mean_squared_error_backward(l.stream, squared_error(labels, size, l),
                                       l.in_or_null<float>(2), l.out<float>(0));
  });
}

Result<StepPtr> lower_count_correct(Lowering& lowering, const Node& node) {
  return kernel_step(node, [size = Rows{lowering.input(node, 0)}](const NodeLaunch& l) {
    launch_count_correct(l.stream, l.in<float>(0), l.in<std::int32_t>(1), size.rows, size.classes,
                         l.out<float>(0));
  });
}

} // namespace troupe::gpu
