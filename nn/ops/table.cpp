// One record for each line of core/graph/ops.def, from the family's header; a missing or incomplete
// record does not compile. Only this file includes the families, so a change in one recompiles only
// this file.
#include "nn/ops/record.hpp"

#include "nn/ops/attention.hpp"
#include "nn/ops/convolution.hpp"
#include "nn/ops/detail/shapes.hpp"
#include "nn/ops/elementwise.hpp"
#include "nn/ops/embedding.hpp"
#include "nn/ops/fused_batch_norm.hpp"
#include "nn/ops/loss.hpp"
#include "nn/ops/matmul.hpp"
#include "nn/ops/normalization.hpp"
#include "nn/ops/pooling.hpp"
#include "nn/ops/row_norms.hpp"

#include <array>

namespace troupe::nn {

namespace {

constexpr bool is_backward(const OpRecord& record) {
  return record.kind == OpKind::backward;
}

/// A record has either `infer` or `check`; a backward op has `check`, because its outputs are
/// tensors that exist before the node.
constexpr bool has_shape_rule(const OpRecord& record) {
  return record.infer ? !record.check && !is_backward(record) : record.check.has_value();
}

constexpr bool has_autocast_rule(const OpRecord& record) {
  return record.autocast.has_value() != is_backward(record);
}

/// Only forward ops have gradients; every loss has one, at least of its first input.
constexpr bool has_sound_gradient(const OpRecord& record) {
  if (record.kind == OpKind::loss)
    return record.gradient && record.flows_to.contains(0);
  return !record.gradient || (!is_backward(record) && record.flows_to != InputSet::none());
}

/// A forward op with a gradient has a clone. Losses have none, because the host reads them, too.
constexpr bool has_sound_clone(const OpRecord& record) {
  if (record.kind != OpKind::forward)
    return !record.clone;
  return record.clone || !record.gradient;
}

constexpr bool has_sound_memory(const OpRecord& record) {
  return record.in_place <= 2 && !record.rounded.contains(0);
}

#define TROUPE_OP(name)                                                                            \
  static_assert(ops::name.op == Op::name, "the record of " #name " has another op");               \
  static_assert(has_shape_rule(ops::name), #name ": forward needs infer, backward check");         \
  static_assert(has_autocast_rule(ops::name), #name ": only forward needs an autocast rule");      \
  static_assert(has_sound_gradient(ops::name), #name ": its gradient does not fit its kind");      \
  static_assert(has_sound_clone(ops::name), #name ": only forward with a gradient has a clone");   \
  static_assert(has_sound_memory(ops::name), #name ": in_place or rounded is invalid");
#include "core/graph/ops.def"
#undef TROUPE_OP

constexpr std::array<OpRecord, op_count> table = {{
#define TROUPE_OP(name) ops::name,
#include "core/graph/ops.def"
#undef TROUPE_OP
}};

} // namespace

const OpRecord& record_of(Op op) {
  return table[static_cast<std::size_t>(op)];
}

} // namespace troupe::nn
