// Element-wise nodes.
#include "../kernels/kernels.hpp"
#include "../parallel.hpp"
#include "convert.hpp"
#include "follow.hpp"
#include "lowering.hpp"
#include "troupe/core/fail.hpp"

#include <cstring>

namespace troupe::cpu {

namespace {

constexpr std::size_t grain = 16384;

/// Can be done behind the writer of an input, and leads others then.
template <class T>
class Elementwise final : public Step, public Follower, public Leader {
public:
  Elementwise(const Node& node, std::size_t elements) : node_{node}, elements_{elements} {
    name = to_string(node.op);
    bytes = static_cast<double>((node.inputs.size() + 1) * elements * sizeof(T));
  }

  std::optional<Needs> follows(TensorId tensor) const override {
    Needs needs{{}, {node_.outputs[0]}};
    for (const auto id : node_.inputs)
      if (id != tensor)
        needs.reads.push_back(id);
    return needs;
  }

  /// Of itself it does not write slices: only when it follows.
  bool writes_slices() const override { return false; }

  void begin(const Frame& frame, std::size_t workers) override {
    done_ = true;
    begin_followers(frame, workers);
  }

  void follow(const Frame& frame, std::size_t worker, std::size_t begin, std::size_t end) override {
    work(frame, begin, end);
    lead(frame, worker, begin, end);
  }

  Status run(const Frame& frame) override {
    if (!done_)
      parallel_for(elements_, grain,
                   [&](std::size_t begin, std::size_t end) { work(frame, begin, end); });
    done_ = false;
    return {};
  }

private:
  void work(const Frame& frame, std::size_t begin, std::size_t end) const {
    const auto* const a = frame.data<T>(node_.inputs[0]);
    const auto* const b = node_.inputs.size() > 1 ? frame.data<T>(node_.inputs[1]) : nullptr;
    auto* const to = frame.data<T>(node_.outputs[0]);
    const auto& k = kernels().of<T>();
    if (node_.op == Op::relu)
      k.relu(a + begin, to + begin, end - begin);
    else if (node_.op == Op::relu_backward)
      k.relu_backward(a + begin, b + begin, to + begin, end - begin);
    else
      k.add(a + begin, b + begin, to + begin, end - begin);
  }

  Node node_;
  std::size_t elements_;
  bool done_ = false;
};

/// From f32 to a 16-bit type, or back.
class Cast final : public Step {
public:
  Cast(const Node& node, DType from, DType to, std::size_t elements)
      : node_{node}, from_{from}, to_{to}, elements_{elements} {
    name = "cast";
    bytes = static_cast<double>(elements * (size_of(from) + size_of(to)));
  }

  Status run(const Frame& frame) override {
    const auto from = node_.inputs[0], to = node_.outputs[0];
    parallel_for(elements_, grain, [&](std::size_t begin, std::size_t end) {
      if (from_ == DType::f32)
        narrow(to_, frame.data<float>(from) + begin,
               frame.data<std::byte>(to) + begin * size_of(to_), end - begin);
      else
        widen(from_, frame.data<std::byte>(from) + begin * size_of(from_),
              frame.data<float>(to) + begin, end - begin);
    });
    return {};
  }

private:
  Node node_;
  DType from_, to_;
  std::size_t elements_;
};

/// flatten and unflatten: the same bytes under another shape.
class CopyBytes final : public Step {
public:
  CopyBytes(const Node& node, std::size_t size) : node_{node}, size_{size} {
    name = to_string(node.op);
    bytes = static_cast<double>(2 * size);
  }

  Status run(const Frame& frame) override {
    const auto* const from = frame.data<std::byte>(node_.inputs[0]);
    auto* const to = frame.data<std::byte>(node_.outputs[0]);
    if (from != to) // the memory plan may have laid both in one place
      parallel_for(size_, grain * sizeof(float), [&](std::size_t begin, std::size_t end) {
        std::memmove(to + begin, from + begin, end - begin);
      });
    return {};
  }

private:
  Node node_;
  std::size_t size_;
};

} // namespace

Result<StepPtr> lower_elementwise(Lowering& lowering, const Node& node) {
  const auto& x = lowering.graph[node.inputs[0]];
  const auto& y = lowering.graph[node.outputs[0]];
  const auto elements = static_cast<std::size_t>(x.shape.elements());
  if (node.op == Op::flatten || node.op == Op::unflatten || x.dtype == y.dtype) {
    if (node.op == Op::flatten || node.op == Op::unflatten || node.op == Op::cast)
      return std::make_unique<CopyBytes>(node, elements * size_of(x.dtype));
    return with_element(x.dtype, [&]<class T>(T) -> StepPtr {
      return std::make_unique<Elementwise<T>>(node, elements);
    });
  }
  if (x.dtype != DType::f32 && y.dtype != DType::f32)
    return fail(Errc::unsupported, "the host does not convert {} to {}", to_string(x.dtype),
                to_string(y.dtype));
  return std::make_unique<Cast>(node, x.dtype, y.dtype, elements);
}

} // namespace troupe::cpu
