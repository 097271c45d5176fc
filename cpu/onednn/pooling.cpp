// Pooling and the parameter-free shortcut.
#include "cpu/onednn/lowering.hpp"

#include <cstring>

namespace troupe::cpu {

namespace {

/// Calls work(T{}, shape, frame, begin, end) for ranges of rows of the output. `big` and `small`:
/// the images before and after the pooling; one of them is the output.
template <class Work>
StepPtr pool_step(const Lowering& lowering, const Node& node, TensorId big, TensorId small,
                  Work work) {
  const auto size = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  const auto &x = lowering.graph[big].shape, &y = lowering.graph[small].shape;
  const auto& a = std::get<PoolAttributes>(node.attributes);
  const PoolShape shape{size(x[0]),     size(x[1]),     size(x[2]),       size(x[3]),
                        size(y[1]),     size(y[2]),     size(a.kernel_h), size(a.kernel_w),
                        size(a.stride), size(a.padding)};
  const auto& out = lowering.graph[node.outputs[0]].shape;
  return with_element(lowering.graph[node.inputs[0]].dtype, [&]<class T>(T) {
    const auto pixels = shape.height * shape.width + shape.out_height * shape.out_width;
    const auto bytes = static_cast<double>(sizeof(T) * shape.batch * shape.channels * pixels);
    return parallel_step(node, bytes, shape.batch * size(out[1]), 1,
                         [shape, work](const NodeFrame& frame, std::size_t begin, std::size_t end) {
                           work(T{}, shape, frame, begin, end);
                         });
  });
}

/// Every stride-th pixel of the big image is one of the small image, with zero channels on both
/// sides.
struct Subsampling {
  SubsamplePadAttributes a;
  Shape big, small;
  std::int64_t size; ///< bytes of an element

  Subsampling(const Graph& graph, const Node& node, TensorId x, TensorId y)
      : a{std::get<SubsamplePadAttributes>(node.attributes)}, big{graph[x].shape},
        small{graph[y].shape}, size{static_cast<std::int64_t>(size_of(graph[x].dtype))} {}

  static void zero(std::byte* to, std::int64_t count) {
    std::memset(to, 0, static_cast<std::size_t>(count));
  }
  static void copy(std::byte* to, const std::byte* from, std::int64_t count) {
    std::memcpy(to, from, static_cast<std::size_t>(count));
  }

  /// Writes a row of y.
  void copy_row(const std::byte* x, std::byte* y, std::int64_t row) const {
    const std::int64_t image = row / small[1], h = row % small[1] * a.stride;
    const std::int64_t channels = big[3] * size;
    for (std::int64_t w = 0; w < small[2]; ++w) {
      std::byte* const to = y + (row * small[2] + w) * small[3] * size;
      zero(to, a.pad_before * size);
      copy(to + a.pad_before * size, x + ((image * big[1] + h) * big[2] + w * a.stride) * channels,
           channels);
      zero(to + a.pad_before * size + channels, a.pad_after * size);
    }
  }

  /// Writes a row of dx.
  void spread_row(const std::byte* dy, std::byte* dx, std::int64_t row) const {
    const std::int64_t image = row / big[1], h = row % big[1];
    const std::int64_t channels = big[3] * size;
    for (std::int64_t w = 0; w < big[2]; ++w) {
      std::byte* const to = dx + (row * big[2] + w) * channels;
      if (h % a.stride != 0 || w % a.stride != 0)
        zero(to, channels);
      else
        copy(to,
             dy + (((image * small[1] + h / a.stride) * small[2] + w / a.stride) * small[3] +
                   a.pad_before) *
                      size,
             channels);
    }
  }
};

/// Calls (s.*do_row)(from, to, row) for all rows of an output with `height` rows per image.
template <auto do_row>
StepPtr subsample_step(const Node& node, const Subsampling& s, std::int64_t height) {
  const auto bytes = static_cast<double>(s.size * s.small.elements() * 2);
  return parallel_step(node, bytes, static_cast<std::size_t>(s.big[0] * height), 8,
                       [s](const NodeFrame& frame, std::size_t begin, std::size_t end) {
                         for (std::size_t row = begin; row < end; ++row)
                           (s.*do_row)(frame.in<std::byte>(0), frame.out<std::byte>(0),
                                       static_cast<std::int64_t>(row));
                       });
}

} // namespace

Result<StepPtr> lower_max_pool(Lowering& lowering, const Node& node) {
  return pool_step(lowering, node, node.inputs[0], node.outputs[0],
                   []<class T>(T, const PoolShape& s, const NodeFrame& frame, std::size_t begin,
                               std::size_t end) {
                     kernels().of<T>().max_pool(s, frame.in<T>(0), frame.out<T>(0),
                                                frame.out<std::int32_t>(1), begin, end);
                   });
}

Result<StepPtr> lower_max_pool_backward(Lowering& lowering, const Node& node) {
  return pool_step(lowering, node, node.outputs[0], node.inputs[0],
                   []<class T>(T, const PoolShape& s, const NodeFrame& frame, std::size_t begin,
                               std::size_t end) {
                     kernels().of<T>().max_pool_backward(
                         s, frame.in<T>(0), frame.in<std::int32_t>(1), frame.out<T>(0), begin, end);
                   });
}

Result<StepPtr> lower_avg_pool(Lowering& lowering, const Node& node) {
  return pool_step(lowering, node, node.inputs[0], node.outputs[0],
                   []<class T>(T, const PoolShape& s, const NodeFrame& frame, std::size_t begin,
                               std::size_t end) {
                     kernels().of<T>().avg_pool(s, frame.in<T>(0), frame.out<T>(0), begin, end);
                   });
}

Result<StepPtr> lower_avg_pool_backward(Lowering& lowering, const Node& node) {
  return pool_step(lowering, node, node.outputs[0], node.inputs[0],
                   []<class T>(T, const PoolShape& s, const NodeFrame& frame, std::size_t begin,
                               std::size_t end) {
                     kernels().of<T>().avg_pool_backward(s, frame.in<T>(0), frame.out<T>(0), begin,
                                                         end);
                   });
}

Result<StepPtr> lower_subsample_pad(Lowering& lowering, const Node& node) {
  const Subsampling s{lowering.graph, node, node.inputs[0], node.outputs[0]};
  return subsample_step<&Subsampling::copy_row>(node, s, s.small[1]);
}

Result<StepPtr> lower_subsample_pad_backward(Lowering& lowering, const Node& node) {
  const Subsampling s{lowering.graph, node, node.outputs[0], node.inputs[0]};
  return subsample_step<&Subsampling::spread_row>(node, s, s.big[1]);
}

} // namespace troupe::cpu
