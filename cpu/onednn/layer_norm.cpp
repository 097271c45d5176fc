// Layer and RMS normalization by our kernels. The library has only the former, and not for f16; its
// backward needs variances, but the op has saved inverse standard deviations.
#include "cpu/kernels/kernels.hpp"
#include "cpu/onednn/detail/parallel_step.hpp"
#include "cpu/onednn/detail/row_sums.hpp"

namespace troupe::cpu {

namespace {

/// x as rows of its last dimension.
struct RowShape {
  std::size_t rows, width;

  explicit RowShape(const Tensor& x)
      : rows{static_cast<std::size_t>(x.shape.elements() / x.shape.dims.back())},
        width{static_cast<std::size_t>(x.shape.dims.back())} {}
  /// Rows that are worth waking a thread for.
  std::size_t grain() const { return (8192 + width - 1) / width; }
  double bytes(DType dtype) const { return static_cast<double>(rows * width * size_of(dtype)); }
};

/// dx, and the sums over rows: dscale and, for layer_norm, dshift.
template <class T>
class NormBackward final : public Step {
public:
  NormBackward(const Lowering& lowering, const Node& node)
      : node_{node}, shape_{lowering.graph[node.inputs[1]]}, sums_{(node.outputs.size() - 1) *
                                                                       shape_.width,
                                                                   static_cast<std::size_t>(
                                                                       lowering.options.threads)} {
    name = to_string(node.op);
    bytes = 3 * shape_.bytes(lowering.graph[node.inputs[1]].dtype);
  }

  std::size_t scratch_bytes() const override { return sums_.scratch_bytes(); }

  Status run(const Frame& frame) override {
    sums_.run(
        frame.scratch(), shape_.rows, shape_.grain(),
        [&](float* block, std::size_t row, std::size_t count) {
          add_block(frame, block, row, count);
        },
        [&](std::size_t i, float sum) {
          frame.data<float>(node_.outputs[1 + i / shape_.width])[i % shape_.width] = sum;
        });
    return {};
  }

private:
  void add_block(const Frame& frame, float* block, std::size_t row, std::size_t count) const {
    const std::size_t at = row * shape_.width;
    const auto* const dy = frame.data<T>(node_.inputs[0]) + at;
    const auto* const x = frame.data<T>(node_.inputs[1]) + at;
    auto* const dx = frame.data<T>(node_.outputs[0]) + at;
    const auto* const scale = frame.data<float>(node_.inputs[2]);
    const auto* const saved = frame.data<float>(node_.inputs[3]) + row;
    if (node_.op == Op::rms_norm_backward)
      kernels().of<T>().rms_norm_backward({dy, x, dx, count, shape_.width, scale, saved, block});
    else
      kernels().of<T>().layer_norm_backward({.dy = dy,
                                             .x = x,
                                             .dx = dx,
                                             .count = count,
                                             .width = shape_.width,
                                             .scale = scale,
                                             .mean = saved,
                                             .inv_std = frame.data<float>(node_.inputs[4]) + row,
                                             .dscale = block,
                                             .dshift = block + shape_.width});
  }

  Node node_;
  RowShape shape_;
  RowSums sums_; ///< of all columns of every output but dx
};

} // namespace

Result<StepPtr> lower_layer_norm(Lowering& lowering, const Node& node) {
  const auto& x = lowering.graph[node.inputs[0]];
  return with_element(x.dtype, [&]<class T>(T) {
    const RowShape shape{x};
    return parallel_step(
        node, 2 * shape.bytes(x.dtype), shape.rows, shape.grain(),
        [node, width = shape.width, eps = std::get<LayerNormAttributes>(node.attributes).eps](
            const Frame& frame, std::size_t begin, std::size_t end) {
          kernels().of<T>().layer_norm({.x = frame.data<T>(node.inputs[0]) + begin * width,
                                        .y = frame.data<T>(node.outputs[0]) + begin * width,
                                        .count = end - begin,
                                        .width = width,
                                        .scale = frame.data<float>(node.inputs[1]),
                                        .shift = frame.data<float>(node.inputs[2]),
                                        .eps = eps,
                                        .mean = frame.data<float>(node.outputs[1]) + begin,
                                        .inv_std = frame.data<float>(node.outputs[2]) + begin});
        });
  });
}

Result<StepPtr> lower_rms_norm(Lowering& lowering, const Node& node) {
  const auto& x = lowering.graph[node.inputs[0]];
  return with_element(x.dtype, [&]<class T>(T) {
    const RowShape shape{x};
    return parallel_step(
        node, 2 * shape.bytes(x.dtype), shape.rows, shape.grain(),
        [node, width = shape.width, eps = std::get<RmsNormAttributes>(node.attributes).eps](
            const Frame& frame, std::size_t begin, std::size_t end) {
          kernels().of<T>().rms_norm({.x = frame.data<T>(node.inputs[0]) + begin * width,
                                      .y = frame.data<T>(node.outputs[0]) + begin * width,
                                      .count = end - begin,
                                      .width = width,
                                      .scale = frame.data<float>(node.inputs[1]),
                                      .eps = eps,
                                      .inv_rms = frame.data<float>(node.outputs[1]) + begin});
        });
  });
}

Result<StepPtr> lower_layer_norm_backward(Lowering& lowering, const Node& node) {
  return typed_step<NormBackward>(lowering.graph[node.inputs[1]].dtype, lowering, node);
}

Result<StepPtr> lower_rms_norm_backward(Lowering& lowering, const Node& node) {
  return lower_layer_norm_backward(lowering, node);
}

} // namespace troupe::cpu
