// Attention and rotary positions by our own kernels: the library has neither.
#include "../kernels/kernels.hpp"
#include "detail/parallel_step.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::cpu {

namespace {

/// Where the heads of a node lie, in elements.
class AttentionPlan {
public:
  AttentionPlan(const Graph& graph, const Node& node, TensorId q)
      : a_{std::get<AttentionAttributes>(node.attributes)},
        rows_{static_cast<std::size_t>(graph[q].shape[0])}, in_one_{graph[q].shape[1] !=
                                                                    a_.heads * a_.head_dim} {}

  bool in_one() const { return in_one_; }
  /// Heads that share keys and values, of every sequence: each is work of its own.
  std::size_t parts() const { return rows_ / size(a_.sequence) * size(a_.kv_heads); }
  AttentionShape shape() const {
    const std::size_t q = size(a_.heads * a_.head_dim), kv = size(a_.kv_heads * a_.head_dim);
    const std::size_t all = q + 2 * kv;
    return {.sequence = size(a_.sequence),
            .head_dim = size(a_.head_dim),
            .heads = size(a_.heads / a_.kv_heads),
            .q_distance = in_one_ ? all : q,
            .kv_distance = in_one_ ? all : kv,
            .y_distance = q,
            .row_heads = size(a_.heads)};
  }
  /// The first element of a part's queries, and of its keys in a tensor of keys alone.
  std::size_t q(std::size_t part) const { return row(part) * shape().q_distance + column(part); }
  std::size_t kv(std::size_t part) const {
    return row(part) * shape().kv_distance + head(part) * size(a_.head_dim);
  }
  std::size_t y(std::size_t part) const { return row(part) * shape().y_distance + column(part); }
  std::size_t log_sum_exp(std::size_t part) const {
    return row(part) * size(a_.heads) + head(part) * shape().heads;
  }
  /// Where keys and values begin in a tensor that has all three.
  std::size_t first_k() const { return in_one_ ? size(a_.heads * a_.head_dim) : 0; }
  std::size_t first_v() const { return in_one_ ? first_k() + size(a_.kv_heads * a_.head_dim) : 0; }

private:
  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }
  std::size_t row(std::size_t part) const { return part / size(a_.kv_heads) * size(a_.sequence); }
  std::size_t head(std::size_t part) const { return part % size(a_.kv_heads); }
  std::size_t column(std::size_t part) const {
    return head(part) * shape().heads * size(a_.head_dim);
  }

  AttentionAttributes a_;
  std::size_t rows_;
  bool in_one_;
};

/// Threads take parts, each with memory of its own.
class AttentionStep : public Step {
public:
  AttentionStep(const Lowering& lowering, const Node& node, TensorId q, bool backward)
      : node_{node}, plan_{lowering.graph, node, q},
        lanes_{std::min(plan_.parts(), static_cast<std::size_t>(lowering.options.threads))},
        lane_bytes_{aligned(kernels().attention_scratch(plan_.shape(), backward) * sizeof(float))} {
    name = to_string(node.op);
  }

  std::size_t scratch_bytes() const override { return lanes_ * lane_bytes_; }

protected:
  /// work(part, scratch) for every part.
  template <class Work>
  void for_parts(const Frame& frame, Work work) const {
    parallel_lanes(lanes_, plan_.parts(), [&](std::size_t part, std::size_t lane) {
      work(part, reinterpret_cast<float*>(frame.scratch() + lane * lane_bytes_));
    });
  }

  Node node_;
  AttentionPlan plan_;

private:
  std::size_t lanes_, lane_bytes_;
};

template <class T>
class Attention final : public AttentionStep {
public:
  Attention(const Lowering& lowering, const Node& node)
      : AttentionStep{lowering, node, node.inputs[0], false} {}

  Status run(const Frame& frame) override {
    const std::size_t k = plan_.in_one() ? 0 : 1, v = plan_.in_one() ? 0 : 2;
    for_parts(frame, [&](std::size_t part, float* scratch) {
      kernels().of<T>().attention(
          plan_.shape(),
          {.q = frame.data<T>(node_.inputs[0]) + plan_.q(part),
           .k = frame.data<T>(node_.inputs[k]) + plan_.first_k() + plan_.kv(part),
           .v = frame.data<T>(node_.inputs[v]) + plan_.first_v() + plan_.kv(part),
           .y = frame.data<T>(node_.outputs[0]) + plan_.y(part),
           .log_sum_exp = frame.data<float>(node_.outputs[1]) + plan_.log_sum_exp(part)},
          scratch);
    });
    return {};
  }
};

template <class T>
class AttentionBackward final : public AttentionStep {
public:
  AttentionBackward(const Lowering& lowering, const Node& node)
      : AttentionStep{lowering, node, node.inputs[1], true} {}

  Status run(const Frame& frame) override {
    const std::size_t k = plan_.in_one() ? 0 : 1, v = plan_.in_one() ? 0 : 2;
    for_parts(frame, [&](std::size_t part, float* scratch) {
      const std::size_t at_k = plan_.first_k() + plan_.kv(part);
      const std::size_t at_v = plan_.first_v() + plan_.kv(part);
      kernels().of<T>().attention_backward(
          plan_.shape(),
          {.dy = frame.data<T>(node_.inputs[0]) + plan_.y(part),
           .q = frame.data<T>(node_.inputs[1]) + plan_.q(part),
           .k = frame.data<T>(node_.inputs[1 + k]) + at_k,
           .v = frame.data<T>(node_.inputs[1 + v]) + at_v,
           .y = frame.data<T>(node_.inputs[2 + v]) + plan_.y(part),
           .log_sum_exp = frame.data<float>(node_.inputs[3 + v]) + plan_.log_sum_exp(part),
           .dq = frame.data<T>(node_.outputs[0]) + plan_.q(part),
           .dk = frame.data<T>(node_.outputs[k]) + at_k,
           .dv = frame.data<T>(node_.outputs[v]) + at_v},
          scratch);
    });
    return {};
  }
};

/// Cosines, then sines, of the angles of all places and pairs.
std::vector<float> turns(const RopeAttributes& a) {
  std::vector<float> sines, all;
  for (std::int64_t place = 0; place < a.sequence; ++place)
    for (std::int64_t i = 0; i < a.head_dim / 2; ++i) {
      const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(a.head_dim);
      const double angle = static_cast<double>(place) * std::pow(double{a.theta}, exponent);
      all.push_back(static_cast<float>(std::cos(angle)));
      sines.push_back(static_cast<float>(std::sin(angle)));
    }
  all.insert(all.end(), sines.begin(), sines.end());
  return all;
}

Result<StepPtr> lower_turn(Lowering& lowering, const Node& node, float direction) {
  const auto& x = lowering.graph[node.inputs[0]];
  const auto& a = std::get<RopeAttributes>(node.attributes);
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  return with_element(x.dtype, [&]<class T>(T) {
    return parallel_step(
        node, static_cast<double>(2 * size(x.shape.elements()) * sizeof(T)), size(x.shape[0]), 16,
        [node, direction, table = turns(a), sequence = size(a.sequence), heads = size(a.heads),
         half = size(a.head_dim / 2)](const Frame& frame, std::size_t begin, std::size_t end) {
          for (std::size_t row = begin; row < end; ++row) {
            const float* const cosines = table.data() + row % sequence * half;
            const std::size_t at = row * heads * 2 * half;
            kernels().of<T>().rope(frame.data<T>(node.inputs[0]) + at,
                                   frame.data<T>(node.outputs[0]) + at,
                                   {heads, half, cosines, cosines + sequence * half, direction});
          }
        });
  });
}

} // namespace

Result<StepPtr> lower_causal_attention(Lowering& lowering, const Node& node) {
  return with_element(lowering.graph[node.inputs[0]].dtype, [&]<class T>(T) -> StepPtr {
    return std::make_unique<Attention<T>>(lowering, node);
  });
}

Result<StepPtr> lower_causal_attention_backward(Lowering& lowering, const Node& node) {
  return with_element(lowering.graph[node.inputs[1]].dtype, [&]<class T>(T) -> StepPtr {
    return std::make_unique<AttentionBackward<T>>(lowering, node);
  });
}

Result<StepPtr> lower_rope(Lowering& lowering, const Node& node) {
  return lower_turn(lowering, node, 1);
}

Result<StepPtr> lower_rope_backward(Lowering& lowering, const Node& node) {
  return lower_turn(lowering, node, -1);
}

} // namespace troupe::cpu
