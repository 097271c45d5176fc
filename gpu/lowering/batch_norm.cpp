// Batch norm by the project's own kernels: whole, or the parts that remain if a convolution does
// the rest.
#include "core/device/sum_over_ranks.hpp"
#include "gpu/kernels/batch_norm_pooled.hpp"
#include "gpu/lowering/detail/pool_shape.hpp"
#include "gpu/lowering/lowering.hpp"

#include <functional>

namespace troupe::gpu {

namespace {

BatchNormShape shape_of(const Tensor& x) {
  const auto channels = x.shape[x.shape.rank() - 1];
  return {.dtype = x.dtype, .rows = x.shape.elements() / channels, .channels = channels};
}

/// Normalizes with these statistics.
void apply(const NodeLaunch& l, const BatchNormShape& shape, BatchNormApply by) {
  const auto& attributes = l.attributes<BatchNormAttributes>();
  by.x = l.in(0);
  by.residual = attributes.add ? l.in(5) : nullptr;
  by.y = l.out(0);
  by.scale = l.in<float>(1);
  by.shift = l.in<float>(2);
  by.relu = attributes.relu;
  by.mask = attributes.mask ? l.out<std::uint8_t>(3) : nullptr;
  launch_batch_norm_apply(l.stream, shape, by);
}

/// A batch norm over all ranks' values: reduce() sums this rank's values, and enqueue() uses the
/// sums of all ranks.
class SynchronizedStep final : public Step {
public:
  using Part = std::function<void(const NodeLaunch& launch, double* sums)>;

  SynchronizedStep(const Node& node, std::int64_t channels, Part reduce, Part finish)
      : node_{node}, count_{RankSums::count(static_cast<std::size_t>(channels))},
        reduce_{std::move(reduce)}, finish_{std::move(finish)} {
    name = to_string(node.op);
  }
  std::size_t rank_sums() const override { return count_; }
  std::size_t workspace_bytes() const override { return count_ * sizeof(double); }
  void reduce(const Launch& launch) override { reduce_({launch, node_}, sums(launch)); }
  Status enqueue(const Launch& launch) override {
    finish_({launch, node_}, sums(launch));
    return {};
  }

private:
  static double* sums(const Launch& launch) {
    return reinterpret_cast<double*>(launch.workspace());
  }

  Node node_;
  std::size_t count_;
  Part reduce_, finish_;
};

BatchNormStatistics statistics_of(const NodeLaunch& l) {
  const auto& attributes = l.attributes<BatchNormAttributes>();
  return {.saved_mean = l.out<float>(1),
          .saved_inv_std = l.out<float>(2),
          .running_mean = l.in<float>(3),
          .running_variance = l.in<float>(4),
          .eps = attributes.eps,
          .momentum = attributes.momentum};
}

/// Scale, shift and the running statistics are the inputs from `first` on.
BatchNormStatistics finalized(const NodeLaunch& l, std::size_t first) {
  const auto& attributes = l.attributes<FinalizeAttributes>();
  return {.saved_mean = l.out<float>(0),
          .saved_inv_std = l.out<float>(1),
          .running_mean = l.in<float>(first + 2),
          .running_variance = l.in<float>(first + 3),
          .eps = attributes.eps,
          .momentum = attributes.momentum,
          .scale = l.in<float>(first),
          .shift = l.in<float>(first + 1)};
}

void apply_saved(const NodeLaunch& l, const BatchNormShape& shape) {
  apply(l, shape, {.mean = l.out<float>(1), .inv_std = l.out<float>(2)});
}

StepPtr training_step(const Lowering& lowering, const Node& node) {
  return kernel_step(node, [shape = shape_of(lowering.input(node, 0))](const NodeLaunch& l) {
    launch_batch_norm_statistics(l.stream, shape, l.in(0), statistics_of(l), l.reductions);
    apply_saved(l, shape);
  });
}

StepPtr synchronized_training_step(const Lowering& lowering, const Node& node) {
  const auto shape = shape_of(lowering.input(node, 0));
  return std::make_unique<SynchronizedStep>(
      node, shape.channels,
      [shape](const NodeLaunch& l, double* sums) {
        launch_batch_norm_rank_sums(l.stream, shape, l.in(0), sums, l.reductions);
      },
      [shape](const NodeLaunch& l, const double* sums) {
        launch_batch_norm_finalize(l.stream, shape.channels, sums, statistics_of(l), l.gate);
        apply_saved(l, shape);
      });
}

StepPtr inference_step(const Lowering& lowering, const Node& node) {
  return kernel_step(node, [shape = shape_of(lowering.input(node, 0))](const NodeLaunch& l) {
    apply(l, shape,
          {.mean = l.in<float>(3),
           .variance = l.in<float>(4),
           .eps = l.attributes<BatchNormAttributes>().eps});
  });
}

} // namespace

Result<StepPtr> lower_batch_norm(Lowering& lowering, const Node& node) {
  const auto& attributes = std::get<BatchNormAttributes>(node.attributes);
  if (!attributes.training)
    return inference_step(lowering, node);
  return attributes.synchronized ? synchronized_training_step(lowering, node)
                                 : training_step(lowering, node);
}

/// Enqueues the second half of a training_step.
Result<StepPtr> lower_normalize(Lowering& lowering, const Node& node) {
  return kernel_step(node, [shape = shape_of(lowering.input(node, 0))](const NodeLaunch& l) {
    apply(l, shape, {.mean = l.in<float>(3), .inv_std = l.in<float>(4)});
  });
}

Result<StepPtr> lower_batch_norm_statistics(Lowering& lowering, const Node& node) {
  return kernel_step(node, [shape = shape_of(lowering.input(node, 0))](const NodeLaunch& l) {
    auto statistics = finalized(l, 1);
    statistics.equivalent_scale = l.out<float>(2);
    statistics.equivalent_shift = l.out<float>(3);
    launch_batch_norm_statistics(l.stream, shape, l.in(0), statistics, l.reductions);
  });
}

namespace {

StepPtr pooled_backward_step(const Lowering& lowering, const Node& node) {
  const auto& pooled = *std::get<BatchNormAttributes>(node.attributes).pooled;
  const auto shape = pool_shape(pooled, lowering.input(node, 1), lowering.input(node, 0));
  return kernel_step(node, [shape](const NodeLaunch& l) {
    launch_pooled_batch_norm_backward(l.stream, shape,
                                      {.dy = l.in(0),
                                       .index = l.in<std::uint8_t>(7),
                                       .x = l.in(1),
                                       .factor = l.in<float>(5),
                                       .offset = l.in<float>(6),
                                       .scale = l.in<float>(2),
                                       .mean = l.in<float>(3),
                                       .inv_std = l.in<float>(4),
                                       .dx = l.out(0),
                                       .dscale = l.out<float>(1),
                                       .dshift = l.out<float>(2)},
                                      l.reductions);
  });
}

} // namespace

Result<StepPtr> lower_batch_norm_backward(Lowering& lowering, const Node& node) {
  const auto& attributes = std::get<BatchNormAttributes>(node.attributes);
  if (attributes.pooled)
    return pooled_backward_step(lowering, node);
  const auto shape = shape_of(lowering.input(node, 1));
  // Without a residual, ReLU's mask is recomputed from x, so y is not read.
  const bool from_x = attributes.relu && !attributes.add;
  const TensorId shift = from_x ? lowering.shift_of(node.inputs[3]) : -1;
  const auto arguments = [attributes, from_x, shift](const NodeLaunch& l) -> BatchNormBackward {
    const bool from_y = attributes.relu && !from_x && !attributes.mask;
    return {.dy = l.in(0),
            .x = l.in(1),
            .other = attributes.add_gradient ? l.data(l.node.inputs.back()) : nullptr,
            .relu = attributes.relu,
            .y = from_y ? l.in(5) : nullptr,
            .mask = attributes.mask ? l.in<std::uint8_t>(5) : nullptr,
            .scale = l.in<float>(2),
            .shift = from_x ? l.data<float>(shift) : nullptr,
            .mean = l.in<float>(3),
            .inv_std = l.in<float>(4),
            .dx = l.out(0),
            .dscale = l.out<float>(1),
            .dshift = l.out<float>(2),
            .dresidual = attributes.add ? l.out(3) : nullptr};
  };
  if (!attributes.synchronized)
    return kernel_step(node, [arguments, shape](const NodeLaunch& l) {
      launch_batch_norm_backward(l.stream, shape, arguments(l), l.reductions);
    });
  return std::make_unique<SynchronizedStep>(
      node, shape.channels,
      [arguments, shape](const NodeLaunch& l, double* sums) {
        launch_batch_norm_backward_sums(l.stream, shape, arguments(l), sums, l.reductions);
      },
      [arguments, shape](const NodeLaunch& l, const double* sums) {
        launch_batch_norm_backward_input(l.stream, shape, arguments(l), sums);
      });
}

namespace {

BatchNormStatistics equivalents(const NodeLaunch& l) {
  const auto& attributes = l.attributes<FinalizeAttributes>();
  auto statistics = finalized(l, 2);
  const bool narrow = attributes.type != DType::f32;
  if (narrow) {
    statistics.narrow = attributes.type;
    statistics.narrow_scale = l.out(2);
    statistics.narrow_shift = l.out(3);
  }
  if (!narrow || attributes.also_f32) {
    statistics.equivalent_scale = l.out<float>(narrow ? 4 : 2);
    statistics.equivalent_shift = l.out<float>(narrow ? 5 : 3);
  }
  if (attributes.copies) {
    statistics.scale_copy = l.out<float>(l.node.outputs.size() - 2);
    statistics.shift_copy = l.out<float>(l.node.outputs.size() - 1);
  }
  return statistics;
}

} // namespace

Result<StepPtr> lower_batch_norm_finalize(Lowering& lowering, const Node& node) {
  const auto channels = lowering.input(node, 0).shape[0];
  return kernel_step(node, [channels](const NodeLaunch& l) {
    launch_batch_norm_finalize(l.stream, l.attributes<FinalizeAttributes>().count, channels,
                               l.in<float>(0), l.in<float>(1), equivalents(l));
  });
}

Result<StepPtr> lower_scale_shift(Lowering& lowering, const Node& node) {
  return kernel_step(node, [shape = shape_of(lowering.input(node, 0))](const NodeLaunch& l) {
    const auto& attributes = l.attributes<ScaleShiftAttributes>();
    launch_scale_bias(l.stream, shape,
                      {.x = l.in(0),
                       .scale = l.in<float>(1),
                       .shift = l.in<float>(2),
                       .z = l.in_or_null<float>(3),
                       .z_scale = l.in_or_null<float>(4),
                       .z_shift = l.in_or_null<float>(5),
                       .y = l.out(0),
                       .relu = attributes.relu,
                       .mask = attributes.mask ? l.out<std::uint8_t>(1) : nullptr});
  });
}

Result<StepPtr> lower_batch_norm_input_gradient(Lowering& lowering, const Node& node) {
  return kernel_step(node, [shape = shape_of(lowering.input(node, 0))](const NodeLaunch& l) {
    DbnApply arguments{.dy = l.in(0),
                       .x = l.in(1),
                       .a = l.in<float>(2),
                       .b = l.in<float>(3),
                       .c = l.in<float>(4),
                       .dx = l.out(0)};
    if (l.node.inputs.size() > 5) {
      arguments.dscale = l.in<float>(5);
      arguments.dshift = l.in<float>(6);
      arguments.dscale_copy = l.out<float>(1);
      arguments.dshift_copy = l.out<float>(2);
    }
    launch_dbn_apply(l.stream, shape, arguments);
  });
}

} // namespace troupe::gpu
