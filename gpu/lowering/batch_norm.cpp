// Batch norm by the project's own kernels: whole, or the parts that remain if a convolution does
// the rest.
#include "core/device/sum_over_ranks.hpp"
#include "gpu/kernels/batch_norm_pooled.hpp"
#include "gpu/kernels/batch_norm_ranks.hpp"
#include "gpu/lowering/detail/pool_shape.hpp"
#include "gpu/lowering/lowering.hpp"

namespace troupe::gpu {

namespace {

BatchNormShape shape_of(const Tensor& x) {
  const auto channels = x.shape[x.shape.rank() - 1];
  return {.dtype = x.dtype, .rows = x.shape.elements() / channels, .channels = channels};
}

/// Normalizes with these statistics.
void apply(const Launch& l, const Node& node, const BatchNormAttributes& attributes,
           const BatchNormShape& shape, BatchNormApply by) {
  by.x = l.data(node.inputs[0]);
  by.residual = attributes.add ? l.data(node.inputs[5]) : nullptr;
  by.y = l.data(node.outputs[0]);
  by.scale = l.data<float>(node.inputs[1]);
  by.shift = l.data<float>(node.inputs[2]);
  by.relu = attributes.relu;
  by.mask = attributes.mask ? l.data<std::uint8_t>(node.outputs[3]) : nullptr;
  launch_batch_norm_apply(l.stream, shape, by);
}

/// A batch norm over all ranks' values: reduce() sums this rank's values, and enqueue() uses the
/// sums of all ranks.
template <class Reduce, class Finish>
class SynchronizedStep final : public Step {
public:
  SynchronizedStep(Op op, std::int64_t channels, Reduce reduce, Finish finish)
      : count_{RankSums::count(static_cast<std::size_t>(channels))}, reduce_{std::move(reduce)},
        finish_{std::move(finish)} {
    name = to_string(op);
  }
  std::size_t rank_sums() const override { return count_; }
  std::size_t workspace_bytes() const override { return count_ * sizeof(double); }
  void reduce(const Launch& launch) override { reduce_(launch, sums(launch)); }
  Status enqueue(const Launch& launch) override {
    finish_(launch, sums(launch));
    return {};
  }

private:
  static double* sums(const Launch& launch) {
    return reinterpret_cast<double*>(launch.workspace());
  }

  std::size_t count_;
  Reduce reduce_;
  Finish finish_;
};

template <class Reduce, class Finish>
StepPtr synchronized_step(Op op, std::int64_t channels, Reduce reduce, Finish finish) {
  return std::make_unique<SynchronizedStep<Reduce, Finish>>(op, channels, std::move(reduce),
                                                            std::move(finish));
}

BatchNormStatistics statistics_of(const Launch& l, const Node& node,
                                  const BatchNormAttributes& attributes) {
  return {.saved_mean = l.data<float>(node.outputs[1]),
          .saved_inv_std = l.data<float>(node.outputs[2]),
          .running_mean = l.data<float>(node.inputs[3]),
          .running_variance = l.data<float>(node.inputs[4]),
          .eps = attributes.eps,
          .momentum = attributes.momentum};
}

void apply_saved(const Launch& l, const Node& node, const BatchNormAttributes& attributes,
                 const BatchNormShape& shape) {
  apply(l, node, attributes, shape,
        {.mean = l.data<float>(node.outputs[1]), .inv_std = l.data<float>(node.outputs[2])});
}

StepPtr training_step(const Lowering& lowering, const Node& node) {
  const auto& attributes = std::get<BatchNormAttributes>(node.attributes);
  return kernel_step(
      node.op, [node, attributes, shape = shape_of(lowering.input(node, 0))](const Launch& l) {
        launch_batch_norm_statistics(l.stream, shape, l.data(node.inputs[0]),
                                     statistics_of(l, node, attributes), l.reductions);
        apply_saved(l, node, attributes, shape);
      });
}

StepPtr synchronized_training_step(const Lowering& lowering, const Node& node) {
  const auto& attributes = std::get<BatchNormAttributes>(node.attributes);
  const auto shape = shape_of(lowering.input(node, 0));
  return synchronized_step(
      node.op, shape.channels,
      [node, shape](const Launch& l, double* sums) {
        launch_batch_norm_rank_sums(l.stream, shape, l.data(node.inputs[0]), sums, l.reductions);
      },
      [node, attributes, shape](const Launch& l, const double* sums) {
        launch_batch_norm_finalize(l.stream, shape.channels, sums,
                                   statistics_of(l, node, attributes), l.gate);
        apply_saved(l, node, attributes, shape);
      });
}

StepPtr inference_step(const Lowering& lowering, const Node& node) {
  const auto& attributes = std::get<BatchNormAttributes>(node.attributes);
  return kernel_step(
      node.op, [node, attributes, shape = shape_of(lowering.input(node, 0))](const Launch& l) {
        apply(l, node, attributes, shape,
              {.mean = l.data<float>(node.inputs[3]),
               .variance = l.data<float>(node.inputs[4]),
               .eps = attributes.eps});
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
  const auto& attributes = std::get<BatchNormAttributes>(node.attributes);
  return kernel_step(
      node.op, [node, attributes, shape = shape_of(lowering.input(node, 0))](const Launch& l) {
        apply(l, node, attributes, shape,
              {.mean = l.data<float>(node.inputs[3]), .inv_std = l.data<float>(node.inputs[4])});
      });
}

Result<StepPtr> lower_batch_norm_statistics(Lowering& lowering, const Node& node) {
  const auto& attributes = std::get<FinalizeAttributes>(node.attributes);
  return kernel_step(
      node.op, [node, attributes, shape = shape_of(lowering.input(node, 0))](const Launch& l) {
        launch_batch_norm_statistics(l.stream, shape, l.data(node.inputs[0]),
                                     {.saved_mean = l.data<float>(node.outputs[0]),
                                      .saved_inv_std = l.data<float>(node.outputs[1]),
                                      .running_mean = l.data<float>(node.inputs[3]),
                                      .running_variance = l.data<float>(node.inputs[4]),
                                      .eps = attributes.eps,
                                      .momentum = attributes.momentum,
                                      .scale = l.data<float>(node.inputs[1]),
                                      .shift = l.data<float>(node.inputs[2]),
                                      .equivalent_scale = l.data<float>(node.outputs[2]),
                                      .equivalent_shift = l.data<float>(node.outputs[3])},
                                     l.reductions);
      });
}

namespace {

StepPtr pooled_backward_step(const Lowering& lowering, const Node& node) {
  const auto& pooled = *std::get<BatchNormAttributes>(node.attributes).pooled;
  const auto shape = pool_shape(pooled, lowering.input(node, 1), lowering.input(node, 0));
  return kernel_step(node.op, [node, shape](const Launch& l) {
    launch_pooled_batch_norm_backward(l.stream, shape,
                                      {.dy = l.data(node.inputs[0]),
                                       .index = l.data<std::uint8_t>(node.inputs[7]),
                                       .x = l.data(node.inputs[1]),
                                       .factor = l.data<float>(node.inputs[5]),
                                       .offset = l.data<float>(node.inputs[6]),
                                       .scale = l.data<float>(node.inputs[2]),
                                       .mean = l.data<float>(node.inputs[3]),
                                       .inv_std = l.data<float>(node.inputs[4]),
                                       .dx = l.data(node.outputs[0]),
                                       .dscale = l.data<float>(node.outputs[1]),
                                       .dshift = l.data<float>(node.outputs[2])},
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
  const auto arguments = [node, attributes, from_x, shift](const Launch& l) -> BatchNormBackward {
    const bool from_y = attributes.relu && !from_x && !attributes.mask;
    return {.dy = l.data(node.inputs[0]),
            .x = l.data(node.inputs[1]),
            .other = attributes.add_gradient ? l.data(node.inputs.back()) : nullptr,
            .relu = attributes.relu,
            .y = from_y ? l.data(node.inputs[5]) : nullptr,
            .mask = attributes.mask ? l.data<std::uint8_t>(node.inputs[5]) : nullptr,
            .scale = l.data<float>(node.inputs[2]),
            .shift = from_x ? l.data<float>(shift) : nullptr,
            .mean = l.data<float>(node.inputs[3]),
            .inv_std = l.data<float>(node.inputs[4]),
            .dx = l.data(node.outputs[0]),
            .dscale = l.data<float>(node.outputs[1]),
            .dshift = l.data<float>(node.outputs[2]),
            .dresidual = attributes.add ? l.data(node.outputs[3]) : nullptr};
  };
  if (!attributes.synchronized)
    return kernel_step(node.op, [arguments, shape](const Launch& l) {
      launch_batch_norm_backward(l.stream, shape, arguments(l), l.reductions);
    });
  return synchronized_step(
      node.op, shape.channels,
      [arguments, shape](const Launch& l, double* sums) {
        launch_batch_norm_backward_sums(l.stream, shape, arguments(l), sums, l.reductions);
      },
      [arguments, shape](const Launch& l, const double* sums) {
        launch_batch_norm_backward_input(l.stream, shape, arguments(l), sums);
      });
}

namespace {

BatchNormStatistics finalized(const Launch& l, const Node& node,
                              const FinalizeAttributes& attributes) {
  const auto output = [&](std::size_t i) { return l.data<float>(node.outputs[i]); };
  BatchNormStatistics statistics{.saved_mean = output(0),
                                 .saved_inv_std = output(1),
                                 .running_mean = l.data<float>(node.inputs[4]),
                                 .running_variance = l.data<float>(node.inputs[5]),
                                 .eps = attributes.eps,
                                 .momentum = attributes.momentum,
                                 .scale = l.data<float>(node.inputs[2]),
                                 .shift = l.data<float>(node.inputs[3])};
  const bool narrow = attributes.type != DType::f32;
  if (narrow) {
    statistics.narrow = attributes.type;
    statistics.narrow_scale = l.data(node.outputs[2]);
    statistics.narrow_shift = l.data(node.outputs[3]);
  }
  if (!narrow || attributes.also_f32) {
    statistics.equivalent_scale = output(narrow ? 4 : 2);
    statistics.equivalent_shift = output(narrow ? 5 : 3);
  }
  if (attributes.copies) {
    statistics.scale_copy = output(node.outputs.size() - 2);
    statistics.shift_copy = output(node.outputs.size() - 1);
  }
  return statistics;
}

} // namespace

Result<StepPtr> lower_batch_norm_finalize(Lowering& lowering, const Node& node) {
  const auto& attributes = std::get<FinalizeAttributes>(node.attributes);
  const auto channels = lowering.input(node, 0).shape[0];
  return kernel_step(node.op, [node, attributes, channels](const Launch& l) {
    launch_batch_norm_finalize(l.stream, attributes.count, channels, l.data<float>(node.inputs[0]),
                               l.data<float>(node.inputs[1]), finalized(l, node, attributes));
  });
}

Result<StepPtr> lower_scale_shift(Lowering& lowering, const Node& node) {
  const auto& attributes = std::get<ScaleShiftAttributes>(node.attributes);
  return kernel_step(node.op, [node, attributes,
                               shape = shape_of(lowering.input(node, 0))](const Launch& l) {
    const auto optional = [&](std::size_t i) {
      return i < node.inputs.size() ? l.data<float>(node.inputs[i]) : nullptr;
    };
    launch_scale_bias(l.stream, shape,
                      {.x = l.data(node.inputs[0]),
                       .scale = l.data<float>(node.inputs[1]),
                       .shift = l.data<float>(node.inputs[2]),
                       .z = optional(3),
                       .z_scale = optional(4),
                       .z_shift = optional(5),
                       .y = l.data(node.outputs[0]),
                       .relu = attributes.relu,
                       .mask = attributes.mask ? l.data<std::uint8_t>(node.outputs[1]) : nullptr});
  });
}

Result<StepPtr> lower_batch_norm_input_gradient(Lowering& lowering, const Node& node) {
  return kernel_step(node.op, [node, shape = shape_of(lowering.input(node, 0))](const Launch& l) {
    DbnApply arguments{.dy = l.data(node.inputs[0]),
                       .x = l.data(node.inputs[1]),
                       .a = l.data<float>(node.inputs[2]),
                       .b = l.data<float>(node.inputs[3]),
                       .c = l.data<float>(node.inputs[4]),
                       .dx = l.data(node.outputs[0])};
    if (node.inputs.size() > 5) {
      arguments.dscale = l.data<float>(node.inputs[5]);
      arguments.dshift = l.data<float>(node.inputs[6]);
      arguments.dscale_copy = l.data<float>(node.outputs[1]);
      arguments.dshift_copy = l.data<float>(node.outputs[2]);
    }
    launch_dbn_apply(l.stream, shape, arguments);
  });
}

} // namespace troupe::gpu
