#include "gpu/kernels/attention.hpp"
#include "core/fail.hpp"
#include "gpu/lowering/lowering.hpp"

#include <array>
#include <span>

namespace troupe::gpu {

namespace {

/// q, k and v: three tensors, or one with their columns side by side.
struct Parts {
  std::vector<TensorId> tensors;
  std::size_t q_bytes, kv_bytes; ///< per row

  Parts(const AttentionShape& shape, std::span<const TensorId> ids)
      : tensors{ids.begin(), ids.end()} {
    const auto& a = shape.attributes;
    const auto bytes = [&](std::int64_t heads) {
      return static_cast<std::size_t>(heads * a.head_dim) * size_of(shape.dtype);
    };
    q_bytes = bytes(a.heads);
    kv_bytes = bytes(a.kv_heads);
  }

  std::array<std::byte*, 3> data(const NodeLaunch& l) const {
    if (tensors.size() == 3)
      return {l.data<std::byte>(tensors[0]), l.data<std::byte>(tensors[1]),
              l.data<std::byte>(tensors[2])};
    auto* const all = l.data<std::byte>(tensors[0]);
    return {all, all + q_bytes, all + q_bytes + kv_bytes};
  }
};

/// Errors: unsupported if the heads are larger than a tile.
Result<AttentionShape> attention_shape(const Node& node, const Tensor& x, std::size_t tensors) {
  const auto& a = std::get<AttentionAttributes>(node.attributes);
  if (a.head_dim > AttentionShape::most_head_dim)
    return fail(Errc::unsupported,
                "CUDA devices support heads of at most {} elements, but the model has heads of {}",
                AttentionShape::most_head_dim, a.head_dim);
  const auto q = a.heads * a.head_dim, kv = a.kv_heads * a.head_dim;
  const bool in_one = tensors == 1;
  return AttentionShape{.attributes = a,
                        .dtype = x.dtype,
                        .sequences = x.shape[0] / a.sequence,
                        .q_distance = in_one ? q + 2 * kv : q,
                        .kv_distance = in_one ? q + 2 * kv : kv};
}

} // namespace

Result<StepPtr> lower_causal_attention(Lowering& lowering, const Node& node) {
  TROUPE_TRY(const auto shape, attention_shape(node, lowering.input(node, 0), node.inputs.size()));
  return kernel_step(node, [shape, parts = Parts{shape, node.inputs}](const NodeLaunch& l) {
    const auto [q, k, v] = parts.data(l);
    launch_causal_attention(
        l.stream, shape, {.q = q, .k = k, .v = v, .y = l.out(0), .log_sum_exp = l.out<float>(1)});
  });
}

Result<StepPtr> lower_cached_attention(Lowering& lowering, const Node& node) {
  const auto cached = node.inputs.size() - 3;
  TROUPE_TRY(const auto shape, attention_shape(node, lowering.input(node, 0), cached));
  const auto places =
      lowering.input(node, cached).shape[0] / (shape.sequences * shape.attributes.kv_heads);
  const Parts parts{shape, std::span{node.inputs}.first(cached)};
  return kernel_step(node, [shape, places, cached, parts](const NodeLaunch& l) {
    const auto [q, k, v] = parts.data(l);
    launch_cached_attention(l.stream, shape,
                            {.q = q,
                             .k = k,
                             .v = v,
                             .keys = l.in<float>(cached),
                             .values = l.in<float>(cached + 1),
                             .first = l.in<std::int32_t>(cached + 2),
                             .places = places,
                             .y = l.out(0)});
  });
}

Result<StepPtr> lower_causal_attention_backward(Lowering& lowering, const Node& node) {
  const auto parts = node.outputs.size();
  TROUPE_TRY(const auto shape, attention_shape(node, lowering.input(node, 0), parts));
  const Parts inputs{shape, std::span{node.inputs}.subspan(1, parts)};
  const Parts gradients{shape, node.outputs};
  const auto mean_bytes =
      static_cast<std::size_t>(shape.rows() * shape.attributes.heads) * sizeof(float);
  return kernel_step(node, mean_bytes, [shape, parts, inputs, gradients](const NodeLaunch& l) {
    const auto [q, k, v] = inputs.data(l);
    const auto [dq, dk, dv] = gradients.data(l);
    launch_causal_attention_backward(l.stream, shape,
                                     {.dy = l.in(0),
                                      .q = q,
                                      .k = k,
                                      .v = v,
                                      .y = l.in(parts + 1),
                                      .log_sum_exp = l.in<float>(parts + 2),
                                      .means = reinterpret_cast<float*>(l.workspace()),
                                      .dq = dq,
                                      .dk = dk,
                                      .dv = dv});
  });
}

} // namespace troupe::gpu
