// Layer and RMS normalization by our kernels. The library has only the former, and not for f16; its
// backward needs variances, but the op has saved inverse standard deviations.
#include "cpu/onednn/detail/row_sums.hpp"
#include "cpu/onednn/lowering.hpp"

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

/// Writes dx of some rows, and adds their parts of dscale and, for layer_norm, dshift to `sums`.
template <class T>
void add_rows(const NodeFrame& frame, std::size_t width, std::size_t row, std::size_t count,
              float* sums) {
  const std::size_t at = row * width;
  const bool layer = frame.node.op == Op::layer_norm_backward;
  const auto& typed = kernels().of<T>();
  (layer ? typed.layer_norm_backward
         : typed.rms_norm_backward)({.dy = frame.in<T>(0) + at,
                                     .x = frame.in<T>(1) + at,
                                     .dx = frame.out<T>(0) + at,
                                     .count = count,
                                     .width = width,
                                     .scale = frame.in<float>(2),
                                     .mean = layer ? frame.in<float>(3) + row : nullptr,
                                     .inv_std = frame.in<float>(layer ? 4 : 3) + row,
                                     .dscale = sums,
                                     .dshift = layer ? sums + width : nullptr});
}

/// Other devices ask for fused norms (nn/passes/fuse_norms).
bool is_fused(const Node& node) {
  return *norm_fusion(node.attributes) != NormFusion{};
}

Result<StepPtr> lower_norm(const Lowering& lowering, const Node& node, float eps) {
  if (is_fused(node))
    return failure(unsupported(lowering.graph, node));
  const auto& x = lowering.graph[node.inputs[0]];
  const RowShape shape{x};
  return with_element(x.dtype, [&]<class T>(T) {
    return parallel_step(
        node, 2 * shape.bytes(x.dtype), shape.rows, shape.grain(),
        [width = shape.width, eps](const NodeFrame& frame, std::size_t begin, std::size_t end) {
          const bool layer = frame.node.op == Op::layer_norm;
          const auto& typed = kernels().of<T>();
          (layer ? typed.layer_norm
                 : typed.rms_norm)({.x = frame.in<T>(0) + begin * width,
                                    .y = frame.out<T>(0) + begin * width,
                                    .count = end - begin,
                                    .width = width,
                                    .scale = frame.in<float>(1),
                                    .shift = frame.in_or_null<float>(2),
                                    .eps = eps,
                                    .mean = layer ? frame.out<float>(1) + begin : nullptr,
                                    .inv_std = frame.out<float>(layer ? 2 : 1) + begin});
        });
  });
}

} // namespace

Result<StepPtr> lower_layer_norm(Lowering& lowering, const Node& node) {
  return lower_norm(lowering, node, std::get<LayerNormAttributes>(node.attributes).eps);
}

Result<StepPtr> lower_rms_norm(Lowering& lowering, const Node& node) {
  return lower_norm(lowering, node, std::get<RmsNormAttributes>(node.attributes).eps);
}

Result<StepPtr> lower_layer_norm_backward(Lowering& lowering, const Node& node) {
  if (is_fused(node))
    return failure(unsupported(lowering.graph, node));
  const auto& x = lowering.graph[node.inputs[1]];
  const RowShape shape{x};
  // of all columns of every output but dx
  const RowSums sums{(node.outputs.size() - 1) * shape.width,
                     static_cast<std::size_t>(lowering.options.threads)};
  return with_element(x.dtype, [&]<class T>(T) {
    const auto run = [shape, sums](const NodeFrame& frame) -> Status {
      sums.run(
          frame.scratch(), shape.rows, shape.grain(),
          [&](float* block, std::size_t row, std::size_t count) {
            add_rows<T>(frame, shape.width, row, count, block);
          },
          [&](std::size_t i, float sum) {
            frame.out<float>(1 + i / shape.width)[i % shape.width] = sum;
          });
      return {};
    };
    return function_step(node, 3 * shape.bytes(x.dtype), sums.scratch_bytes(), run);
  });
}

Result<StepPtr> lower_rms_norm_backward(Lowering& lowering, const Node& node) {
  return lower_layer_norm_backward(lowering, node);
}

} // namespace troupe::cpu
