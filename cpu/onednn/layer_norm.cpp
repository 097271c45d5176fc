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

/// Writes dx of some rows, and adds their parts of dscale and, for layer_norm, dshift to `sums`.
template <class T>
void add_rows(const NodeFrame& frame, std::size_t width, std::size_t row, std::size_t count,
              float* sums) {
  const std::size_t at = row * width;
  const auto* const dy = frame.in<T>(0) + at;
  const auto* const x = frame.in<T>(1) + at;
  auto* const dx = frame.out<T>(0) + at;
  const auto* const scale = frame.in<float>(2);
  const auto* const saved = frame.in<float>(3) + row;
  if (frame.node.op == Op::rms_norm_backward)
    kernels().of<T>().rms_norm_backward({dy, x, dx, count, width, scale, saved, sums});
  else
    kernels().of<T>().layer_norm_backward({.dy = dy,
                                           .x = x,
                                           .dx = dx,
                                           .count = count,
                                           .width = width,
                                           .scale = scale,
                                           .mean = saved,
                                           .inv_std = frame.in<float>(4) + row,
                                           .dscale = sums,
                                           .dshift = sums + width});
}

} // namespace

Result<StepPtr> lower_layer_norm(Lowering& lowering, const Node& node) {
  const auto& x = lowering.graph[node.inputs[0]];
  return with_element(x.dtype, [&]<class T>(T) {
    const RowShape shape{x};
    return parallel_step(
        node, 2 * shape.bytes(x.dtype), shape.rows, shape.grain(),
        [width = shape.width, eps = std::get<LayerNormAttributes>(node.attributes).eps](
            const NodeFrame& frame, std::size_t begin, std::size_t end) {
          kernels().of<T>().layer_norm({.x = frame.in<T>(0) + begin * width,
                                        .y = frame.out<T>(0) + begin * width,
                                        .count = end - begin,
                                        .width = width,
                                        .scale = frame.in<float>(1),
                                        .shift = frame.in<float>(2),
                                        .eps = eps,
                                        .mean = frame.out<float>(1) + begin,
                                        .inv_std = frame.out<float>(2) + begin});
        });
  });
}

Result<StepPtr> lower_rms_norm(Lowering& lowering, const Node& node) {
  const auto& x = lowering.graph[node.inputs[0]];
  return with_element(x.dtype, [&]<class T>(T) {
    const RowShape shape{x};
    return parallel_step(
        node, 2 * shape.bytes(x.dtype), shape.rows, shape.grain(),
        [width = shape.width, eps = std::get<RmsNormAttributes>(node.attributes).eps](
            const NodeFrame& frame, std::size_t begin, std::size_t end) {
          kernels().of<T>().rms_norm({.x = frame.in<T>(0) + begin * width,
                                      .y = frame.out<T>(0) + begin * width,
                                      .count = end - begin,
                                      .width = width,
                                      .scale = frame.in<float>(1),
                                      .eps = eps,
                                      .inv_rms = frame.out<float>(1) + begin});
        });
  });
}

Result<StepPtr> lower_layer_norm_backward(Lowering& lowering, const Node& node) {
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
