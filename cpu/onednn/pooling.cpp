// Pooling and the parameter-free shortcut.
#include "../kernels/kernels.hpp"
#include "../parallel.hpp"
#include "convert.hpp"
#include "lowering.hpp"

#include <cstring>

namespace troupe::cpu {

namespace {

PoolShape pool_shape(const Tensor& x, const Tensor& y, const PoolAttributes& a) {
  const auto size = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  return {size(x.shape[0]), size(x.shape[1]), size(x.shape[2]), size(x.shape[3]), size(y.shape[1]),
          size(y.shape[2]), size(a.kernel_h), size(a.kernel_w), size(a.stride),   size(a.padding)};
}

/// Backward nodes may be forward ops that are made again.
bool is_backward(Op op) {
  return op == Op::max_pool_backward || op == Op::avg_pool_backward ||
         op == Op::subsample_pad_backward;
}

template <class T>
class Pool final : public Step {
public:
  Pool(const Node& node, const PoolShape& shape) : node_{node}, shape_{shape} {
    name = to_string(node.op);
    bytes = static_cast<double>(sizeof(T) * shape.batch * shape.channels *
                                (shape.height * shape.width + shape.out_height * shape.out_width));
  }

  Status run(const Frame& frame) override {
    const auto& k = kernels().of<T>();
    const auto* const from = frame.data<T>(node_.inputs[0]);
    auto* const to = frame.data<T>(node_.outputs[0]);
    const bool backward = is_backward(node_.op);
    const bool max = node_.op == Op::max_pool || node_.op == Op::max_pool_backward;
    auto* const index =
        max ? frame.data<std::int32_t>(backward ? node_.inputs[1] : node_.outputs[1]) : nullptr;
    parallel_for(shape_.batch * (backward ? shape_.height : shape_.out_height), 1,
                 [&](std::size_t begin, std::size_t end) {
                   if (max && backward)
                     k.max_pool_backward(shape_, from, index, to, begin, end);
                   else if (max)
                     k.max_pool(shape_, from, to, index, begin, end);
                   else if (backward)
                     k.avg_pool_backward(shape_, from, to, begin, end);
                   else
                     k.avg_pool(shape_, from, to, begin, end);
                 });
    return {};
  }

private:
  Node node_;
  PoolShape shape_;
};

/// Every stride-th pixel, with zero channels on both sides; or back.
class SubsamplePad final : public Step {
public:
  SubsamplePad(const Node& node, const Tensor& big, const Tensor& small)
      : node_{node}, a_{std::get<SubsamplePadAttributes>(node.attributes)}, big_{big.shape},
        small_{small.shape}, size_{static_cast<std::int64_t>(size_of(big.dtype))} {
    name = to_string(node.op);
    bytes = static_cast<double>(size_ * small_.elements() * 2);
  }

  Status run(const Frame& frame) override {
    auto* const from = frame.data<std::byte>(node_.inputs[0]);
    auto* const to = frame.data<std::byte>(node_.outputs[0]);
    const bool forward = !is_backward(node_.op);
    const auto rows = static_cast<std::size_t>(big_[0] * (forward ? small_[1] : big_[1]));
    parallel_for(rows, 8, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row)
        if (forward)
          copy_row(from, to, static_cast<std::int64_t>(row));
        else
          spread_row(from, to, static_cast<std::int64_t>(row));
    });
    return {};
  }

private:
  static void zero(std::byte* to, std::int64_t count) {
    std::memset(to, 0, static_cast<std::size_t>(count));
  }
  static void copy(std::byte* to, const std::byte* from, std::int64_t count) {
    std::memcpy(to, from, static_cast<std::size_t>(count));
  }

  void copy_row(const std::byte* x, std::byte* y, std::int64_t row) const {
    const std::int64_t image = row / small_[1], h = row % small_[1] * a_.stride;
    const std::int64_t channels = big_[3] * size_;
    for (std::int64_t w = 0; w < small_[2]; ++w) {
      std::byte* const to = y + (row * small_[2] + w) * small_[3] * size_;
      zero(to, a_.pad_before * size_);
      copy(to + a_.pad_before * size_,
           x + ((image * big_[1] + h) * big_[2] + w * a_.stride) * channels, channels);
      zero(to + a_.pad_before * size_ + channels, a_.pad_after * size_);
    }
  }

  void spread_row(const std::byte* dy, std::byte* dx, std::int64_t row) const {
    const std::int64_t image = row / big_[1], h = row % big_[1];
    const std::int64_t channels = big_[3] * size_;
    for (std::int64_t w = 0; w < big_[2]; ++w) {
      std::byte* const to = dx + (row * big_[2] + w) * channels;
      if (h % a_.stride != 0 || w % a_.stride != 0)
        zero(to, channels);
      else
        copy(to,
             dy + (((image * small_[1] + h / a_.stride) * small_[2] + w / a_.stride) * small_[3] +
                   a_.pad_before) *
                      size_,
             channels);
    }
  }

  Node node_;
  SubsamplePadAttributes a_;
  Shape big_, small_;
  std::int64_t size_; ///< bytes of an element
};

} // namespace

Result<StepPtr> lower_pooling(Lowering& lowering, const Node& node) {
  const auto& in = lowering.graph[node.inputs[0]];
  const auto& out = lowering.graph[node.outputs[0]];
  const bool forward = !is_backward(node.op);
  const auto& big = forward ? in : out;
  const auto& small = forward ? out : in;
  if (node.op == Op::subsample_pad || node.op == Op::subsample_pad_backward)
    return std::make_unique<SubsamplePad>(node, big, small);
  const auto shape = pool_shape(big, small, std::get<PoolAttributes>(node.attributes));
  return with_element(
      in.dtype, [&]<class T>(T) -> StepPtr { return std::make_unique<Pool<T>>(node, shape); });
}

} // namespace troupe::cpu
