// Attention by our kernels: the library has none.
#include "cpu/detail/sequence_places.hpp"
#include "cpu/onednn/lowering.hpp"

#include <algorithm>

namespace troupe::cpu {

namespace {

/// Positions of a node's heads, in elements.
class AttentionPlan {
public:
  AttentionPlan(const Graph& graph, const Node& node, TensorId q)
      : a_{std::get<AttentionAttributes>(node.attributes)}, rows_{graph[q].shape.size(0)},
        in_one_{graph[q].shape[1] != a_.heads * a_.head_dim} {}

  /// Inputs with keys and values, counted from the queries'.
  std::size_t k() const { return in_one_ ? 0 : 1; }
  std::size_t v() const { return in_one_ ? 0 : 2; }
  std::size_t head_dim() const { return size(a_.head_dim); }
  /// Operations of a product of all rows with `keys` keys or values. On average a row uses half of
  /// them, those before it.
  double operations(std::size_t keys) const {
    return static_cast<double>(rows_ * size(a_.heads) * head_dim() * keys);
  }
  /// Groups of heads that share keys and values, of every sequence: each is one part.
  std::size_t parts() const { return rows_ / size(a_.sequence) * size(a_.kv_heads); }
  AttentionShape shape() const {
    const std::size_t q = size(a_.heads * a_.head_dim), kv = size(a_.kv_heads * a_.head_dim);
    const std::size_t all = q + 2 * kv;
    return {.sequence = size(a_.sequence),
            .head_dim = size(a_.head_dim),
            .heads = size(a_.heads / a_.kv_heads),
            .q_distance = in_one_ ? all : q,
            .kv_distance = in_one_ ? all : kv,
            .y_distance = q};
  }
  /// Offset of a part's queries, and of its keys in a tensor of only keys.
  std::size_t q(std::size_t part) const { return row(part) * shape().q_distance + column(part); }
  std::size_t kv(std::size_t part) const {
    return row(part) * shape().kv_distance + head(part) * size(a_.head_dim);
  }
  std::size_t y(std::size_t part) const { return row(part) * shape().y_distance + column(part); }
  std::size_t log_sum_exp(std::size_t part) const {
    return part * shape().heads * size(a_.sequence);
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

/// Threads take parts, each with scratch memory of its own.
class AttentionLanes {
public:
  /// `floats`: scratch floats of a part.
  AttentionLanes(const Lowering& lowering, const AttentionPlan& plan, std::size_t floats)
      : parts_{plan.parts()}, lanes_{std::min(parts_,
                                              static_cast<std::size_t>(lowering.options.threads))},
        lane_bytes_{aligned(floats * sizeof(float))} {}

  std::size_t scratch_bytes() const { return lanes_ * lane_bytes_; }
  /// Calls work(part, scratch) for every part.
  template <class Work>
  void run(const Frame& frame, Work work) const {
    parallel_lanes(lanes_, parts_, [&](std::size_t part, std::size_t lane) {
      work(part, reinterpret_cast<float*>(frame.scratch() + lane * lane_bytes_));
    });
  }

private:
  std::size_t parts_, lanes_, lane_bytes_;
};

/// Calls attend(kernels, frame, part, scratch) for every part. `products`: number of products of
/// all rows with all keys or values.
template <class T, class Attend>
StepPtr attention_step(const Lowering& lowering, const Node& node, const AttentionPlan& plan,
                       bool backward, double products, Attend attend) {
  const auto& typed = kernels().of<T>();
  const AttentionLanes lanes{lowering, plan, typed.attention_scratch(plan.shape(), backward)};
  auto step = function_step(
      node, 0, lanes.scratch_bytes(), [lanes, attend, &typed](const NodeFrame& frame) -> Status {
        lanes.run(frame,
                  [&](std::size_t part, float* scratch) { attend(typed, frame, part, scratch); });
        return {};
      });
  step->operations = products * plan.operations(plan.shape().sequence);
  return step;
}

/// Writes keys and values into the caches, and attends to the caches in place.
template <class T>
class CachedAttention final : public Step {
public:
  CachedAttention(const Lowering& lowering, const Node& node, const AttentionPlan& plan)
      : node_{node}, plan_{plan}, cached_{node.inputs.size() - 3},
        places_{lowering.graph[node.inputs[cached_]].shape.size(0) / plan.parts()},
        lanes_{lowering, plan, scratch_floats(plan.shape(), places_)} {
    name = to_string(node.op);
    operations = 4 * plan.operations(places_); // with a full cache
  }

  std::size_t scratch_bytes() const override { return lanes_.scratch_bytes(); }

  Status run(const Frame& frame) override {
    auto shape = plan_.shape();
    const std::int32_t first = *frame.data<std::int32_t>(node_.inputs.back());
    TROUPE_TRY(check_places(first, static_cast<std::int64_t>(shape.sequence),
                            static_cast<std::int64_t>(places_)));
    shape.first = static_cast<std::size_t>(first);
    lanes_.run(frame, [&](std::size_t part, float* scratch) {
      remember(frame, shape, part);
      if (few_rows(shape))
        attend_by_rows(frame, shape, part, scratch);
      else
        attend(frame, shape, part, scratch);
    });
    return {};
  }

private:
  /// For more rows, tiles are faster.
  static bool few_rows(const AttentionShape& shape) { return shape.sequence < 8; }
  /// Scratch floats of a part, for any position of its rows.
  static std::size_t scratch_floats(AttentionShape shape, std::size_t places) {
    shape.first = places - shape.sequence;
    return few_rows(shape) ? kernels().attention_row_scratch(shape.head_dim, places)
                           : kernels().cached_attention_scratch(shape, false);
  }
  float* cache(const Frame& frame, std::size_t which, std::size_t part) const {
    return frame.data<float>(node_.inputs[cached_ + which]) + part * places_ * plan_.head_dim();
  }

  void remember(const Frame& frame, const AttentionShape& shape, std::size_t part) const {
    const auto* const k = frame.data<T>(node_.inputs[plan_.k()]) + plan_.first_k();
    const auto* const v = frame.data<T>(node_.inputs[plan_.v()]) + plan_.first_v();
    for (std::size_t row = 0; row < shape.sequence; ++row) {
      const std::size_t from = plan_.kv(part) + row * shape.kv_distance;
      const std::size_t to = (shape.first + row) * shape.head_dim;
      kernels().of<T>().widen(k + from, cache(frame, 0, part) + to, shape.head_dim);
      kernels().of<T>().widen(v + from, cache(frame, 1, part) + to, shape.head_dim);
    }
  }

  void attend(const Frame& frame, AttentionShape shape, std::size_t part, float* scratch) const {
    shape.kv_distance = shape.head_dim;
    kernels().of<T>().cached_attention(shape,
                                       {.q = frame.data<T>(node_.inputs[0]) + plan_.q(part),
                                        .k = cache(frame, 0, part),
                                        .v = cache(frame, 1, part),
                                        .y = frame.data<T>(node_.outputs[0]) + plan_.y(part),
                                        .log_sum_exp = nullptr},
                                       scratch);
  }

  void attend_by_rows(const Frame& frame, const AttentionShape& shape, std::size_t part,
                      float* scratch) const {
    for (std::size_t row = 0; row < shape.sequence; ++row)
      kernels().of<T>().attention_row(
          {.q = frame.data<T>(node_.inputs[0]) + plan_.q(part) + row * shape.q_distance,
           .k = cache(frame, 0, part),
           .v = cache(frame, 1, part),
           .y = frame.data<T>(node_.outputs[0]) + plan_.y(part) + row * shape.y_distance,
           .heads = shape.heads,
           .head_dim = shape.head_dim,
           .keys = shape.first + row + 1},
          scratch);
  }

  Node node_;
  AttentionPlan plan_;
  std::size_t cached_; ///< the first of the caches among the inputs
  std::size_t places_; ///< positions of a cache for a part
  AttentionLanes lanes_;
};

} // namespace

Result<StepPtr> lower_causal_attention(Lowering& lowering, const Node& node) {
  const AttentionPlan plan{lowering.graph, node, node.inputs[0]};
  return with_element(lowering.graph[node.inputs[0]].dtype, [&]<class T>(T) {
    // scores, and weighted values
    return attention_step<T>(
        lowering, node, plan, false, 2,
        [plan](const auto& typed, const NodeFrame& frame, std::size_t part, float* scratch) {
          typed.attention(plan.shape(),
                          {.q = frame.in<T>(0) + plan.q(part),
                           .k = frame.in<T>(plan.k()) + plan.first_k() + plan.kv(part),
                           .v = frame.in<T>(plan.v()) + plan.first_v() + plan.kv(part),
                           .y = frame.out<T>(0) + plan.y(part),
                           .log_sum_exp = frame.out<float>(1) + plan.log_sum_exp(part)},
                          scratch);
        });
  });
}

Result<StepPtr> lower_causal_attention_backward(Lowering& lowering, const Node& node) {
  const AttentionPlan plan{lowering.graph, node, node.inputs[1]};
  return with_element(lowering.graph[node.inputs[1]].dtype, [&]<class T>(T) {
    // scores again, four gradients
    return attention_step<T>(
        lowering, node, plan, true, 5,
        [plan](const auto& typed, const NodeFrame& frame, std::size_t part, float* scratch) {
          const std::size_t at_k = plan.first_k() + plan.kv(part);
          const std::size_t at_v = plan.first_v() + plan.kv(part);
          typed.attention_backward(
              plan.shape(),
              {.dy = frame.in<T>(0) + plan.y(part),
               .q = frame.in<T>(1) + plan.q(part),
               .k = frame.in<T>(1 + plan.k()) + at_k,
               .v = frame.in<T>(1 + plan.v()) + at_v,
               .y = frame.in<T>(2 + plan.v()) + plan.y(part),
               .log_sum_exp = frame.in<float>(3 + plan.v()) + plan.log_sum_exp(part),
               .dq = frame.out<T>(0) + plan.q(part),
               .dk = frame.out<T>(plan.k()) + at_k,
               .dv = frame.out<T>(plan.v()) + at_v},
              scratch);
        });
  });
}

Result<StepPtr> lower_cached_attention(Lowering& lowering, const Node& node) {
  const AttentionPlan plan{lowering.graph, node, node.inputs[0]};
  return typed_step<CachedAttention>(lowering.graph[node.inputs[0]].dtype, lowering, node, plan);
}

} // namespace troupe::cpu
