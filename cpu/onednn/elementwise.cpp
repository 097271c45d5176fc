// Element-wise nodes.
#include "core/device/dropout_math.hpp"
#include "core/fail.hpp"
#include "cpu/onednn/detail/convert.hpp"
#include "cpu/onednn/detail/slice_fusion.hpp"
#include "cpu/onednn/lowering.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::cpu {

namespace {

/// A range of a node's tensors.
template <class In, class Out>
struct Part {
  const In *a, *b; ///< b: null if there is only one input
  Out* to;
  std::size_t elements;
};

/// Can consume slices of an input directly after its writer, and then produces slices for others.
/// `kernel` is called with the typed kernels of the input type and a range.
template <class In, class Out, class Kernel>
class Elementwise final : public Step, public SliceConsumer, public SliceProducer {
public:
  Elementwise(const Node& node, std::size_t elements, Kernel kernel)
      : node_{node}, elements_{elements}, kernel_{kernel} {
    name = to_string(node.op);
    bytes = static_cast<double>((node.inputs.size() * sizeof(In) + sizeof(Out)) * elements);
  }

  std::optional<Needs> consumes(TensorId tensor) const override {
    Needs needs{{}, {node_.outputs[0]}};
    for (const auto id : node_.inputs)
      if (id != tensor)
        needs.reads.push_back(id);
    return needs;
  }

  /// Writes slices only if it consumes some; otherwise writes all at once.
  bool writes_slices() const override { return false; }

  void begin(const Frame& frame, std::size_t workers) override {
    done_ = true;
    begin_consumers(frame, workers);
  }

  void consume(const Frame& frame, std::size_t worker, std::size_t begin,
               std::size_t end) override {
    work(frame, begin, end);
    hand_on(frame, worker, begin, end);
  }

  Status run(const Frame& frame) override {
    if (!done_)
      parallel_for(elements_, elementwise_grain,
                   [&](std::size_t begin, std::size_t end) { work(frame, begin, end); });
    done_ = false;
    return {};
  }

private:
  void work(const Frame& frame, std::size_t begin, std::size_t end) const {
    const auto* const a = frame.data<In>(node_.inputs[0]) + begin;
    const auto* const b =
        node_.inputs.size() > 1 ? frame.data<In>(node_.inputs[1]) + begin : nullptr;
    auto* const to = frame.data<Out>(node_.outputs[0]) + begin;
    kernel_(kernels().of<In>(), Part<In, Out>{a, b, to, end - begin});
  }

  Node node_;
  std::size_t elements_;
  Kernel kernel_;
  bool done_ = false;
};

template <class In, class Out, class Kernel>
StepPtr elementwise(const Node& node, std::size_t elements, Kernel kernel) {
  return std::make_unique<Elementwise<In, Out, Kernel>>(node, elements, kernel);
}

template <class Kernel>
Result<StepPtr> elementwise(const Lowering& lowering, const Node& node, Kernel kernel) {
  const auto& x = lowering.graph[node.inputs[0]];
  return with_element(x.dtype,
                      [&]<class T>(T) { return elementwise<T, T>(node, x.shape.count(), kernel); });
}

DropoutMask mask_of(const DropoutRule& rule, std::uint64_t key, std::size_t first) {
  const auto counter = dropout_counter(rule, 0);
  return {.key = key,
          .counter = {counter[0], counter[1], counter[2], counter[3]},
          .bound = rule.bound,
          .scale = rule.scale,
          .first = first};
}

} // namespace

Result<StepPtr> lower_relu(Lowering& lowering, const Node& node) {
  return elementwise(lowering, node,
                     [](const auto& k, const auto& p) { k.relu(p.a, p.to, p.elements); });
}

Result<StepPtr> lower_relu_backward(Lowering& lowering, const Node& node) {
  return elementwise(lowering, node, [](const auto& k, const auto& p) {
    k.relu_backward(p.a, p.b, p.to, p.elements);
  });
}

Result<StepPtr> lower_gelu(Lowering& lowering, const Node& node) {
  const bool tanh = std::get<GeluAttributes>(node.attributes).tanh;
  return elementwise(lowering, node,
                     [tanh](const auto& k, const auto& p) { k.gelu(p.a, p.to, p.elements, tanh); });
}

Result<StepPtr> lower_gelu_backward(Lowering& lowering, const Node& node) {
  const bool tanh = std::get<GeluAttributes>(node.attributes).tanh;
  return elementwise(lowering, node, [tanh](const auto& k, const auto& p) {
    k.gelu_backward(p.a, p.b, p.to, p.elements, tanh);
  });
}

Result<StepPtr> lower_swiglu(Lowering& lowering, const Node& node) {
  return elementwise(lowering, node,
                     [](const auto& k, const auto& p) { k.swiglu(p.a, p.b, p.to, p.elements); });
}

Result<StepPtr> lower_swiglu_backward(Lowering& lowering, const Node& node) {
  const auto& dy = lowering.graph[node.inputs[0]];
  const auto bytes = static_cast<double>(5 * dy.shape.count() * size_of(dy.dtype));
  return with_element(dy.dtype, [&]<class T>(T) {
    return parallel_step(node, bytes, dy.shape.count(), elementwise_grain,
                         [](const NodeFrame& frame, std::size_t begin, std::size_t end) {
                           kernels().of<T>().swiglu_backward({.dy = frame.in<T>(0) + begin,
                                                              .gate = frame.in<T>(1) + begin,
                                                              .up = frame.in<T>(2) + begin,
                                                              .dgate = frame.out<T>(0) + begin,
                                                              .dup = frame.out<T>(1) + begin},
                                                             end - begin);
                         });
  });
}

Result<StepPtr> lower_add(Lowering& lowering, const Node& node) {
  return elementwise(lowering, node,
                     [](const auto& k, const auto& p) { k.add(p.a, p.b, p.to, p.elements); });
}

/// Threads take ranges of elements, which may begin and end within a sample.
Result<StepPtr> lower_dropout(Lowering& lowering, const Node& node) {
  const auto& x = lowering.graph[node.inputs[0]];
  const auto of_sample = x.shape.count() / lowering.graph[node.inputs[1]].shape.size(0);
  const auto rule = dropout_rule(std::get<DropoutAttributes>(node.attributes));
  const auto bytes = static_cast<double>(2 * x.shape.count() * size_of(x.dtype));
  return with_element(x.dtype, [&]<class T>(T) {
    return parallel_step(
        node, bytes, x.shape.count(), elementwise_grain,
        [rule, of_sample](const NodeFrame& frame, std::size_t begin, std::size_t end) {
          const auto* const from = frame.in<T>(0);
          const auto* const keys = frame.in<std::int32_t>(1);
          auto* const to = frame.out<T>(0);
          while (begin < end) {
            const auto sample = begin / of_sample, first = begin % of_sample;
            const auto count = std::min(of_sample - first, end - begin);
            const auto mask = mask_of(rule, dropout_key(keys, sample), first);
            kernels().of<T>().dropout(mask, from + begin, to + begin, count);
            begin += count;
          }
        });
  });
}

/// Copies the same bytes to a tensor of another shape.
Result<StepPtr> lower_flatten(Lowering& lowering, const Node& node) {
  const auto& x = lowering.graph[node.inputs[0]];
  const std::size_t size = x.shape.count() * size_of(x.dtype);
  return function_step(node, static_cast<double>(2 * size), 0,
                       [size](const NodeFrame& frame) -> Status {
                         const auto* const from = frame.in<std::byte>(0);
                         auto* const to = frame.out<std::byte>(0);
                         if (from != to) // the memory plan may have placed both at the same address
                           parallel_for(size, elementwise_grain * sizeof(float),
                                        [&](std::size_t begin, std::size_t end) {
                                          std::memmove(to + begin, from + begin, end - begin);
                                        });
                         return {};
                       });
}

/// Casts f32 to a 16-bit type, or back.
Result<StepPtr> lower_cast(Lowering& lowering, const Node& node) {
  const auto& x = lowering.graph[node.inputs[0]];
  const DType from = x.dtype, to = lowering.graph[node.outputs[0]].dtype;
  if (from == to)
    return lower_flatten(lowering, node);
  if (from != DType::f32 && to != DType::f32)
    return fail(Errc::unsupported, "the host does not convert {} to {}", to_string(from),
                to_string(to));
  return with_element(from == DType::f32 ? to : from, [&]<class T>(T) {
    return from == DType::f32
               ? elementwise<float, T>(node, x.shape.count(),
                                       [](const auto&, const auto& p) {
                                         kernels().of<T>().narrow(p.a, p.to, p.elements);
                                       })
               : elementwise<T, float>(node, x.shape.count(), [](const auto& k, const auto& p) {
                   k.widen(p.a, p.to, p.elements);
                 });
  });
}

Result<StepPtr> lower_share(Lowering& lowering, const Node& node) {
  return lower_flatten(lowering, node);
}

Result<StepPtr> lower_unflatten(Lowering& lowering, const Node& node) {
  return lower_flatten(lowering, node);
}

} // namespace troupe::cpu
