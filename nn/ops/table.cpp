// One record for each line of core/graph/ops.def, from the family's header; a record that is
// missing or incomplete does not compile. The families are included here alone: to touch one is to
// compile this file.
#include "nn/ops/table.hpp"

#include "nn/ops/attention.hpp"
#include "nn/ops/convolution.hpp"
#include "nn/ops/detail/shapes.hpp"
#include "nn/ops/dropout.hpp"
#include "nn/ops/elementwise.hpp"
#include "nn/ops/embedding.hpp"
#include "nn/ops/fused_batch_norm.hpp"
#include "nn/ops/loss.hpp"
#include "nn/ops/matmul.hpp"
#include "nn/ops/normalization.hpp"
#include "nn/ops/pooling.hpp"

#include <array>

namespace troupe::nn {

namespace {

constexpr bool is_backward(const OpRecord& record) {
  return record.kind == OpKind::backward;
}

/// A record has either `infer` or `check`, a backward op's has `check`: its outputs are tensors
/// that exist before the node does.
constexpr bool has_shape_rule(const OpRecord& record) {
  return record.infer ? !record.check && !is_backward(record) : record.check.has_value();
}

constexpr bool has_autocast_rule(const OpRecord& record) {
  return record.autocast.has_value() != is_backward(record);
}

/// Only forward ops have gradients; all losses have one, of their first input at least.
constexpr bool has_sound_gradient(const OpRecord& record) {
  if (record.kind == OpKind::loss)
    return record.gradient && record.flows_to.contains(0);
  return !record.gradient || (!is_backward(record) && record.flows_to != InputSet::none());
}

/// What backward reads can be made again, except losses: the host reads them, too.
constexpr bool has_sound_clone(const OpRecord& record) {
  if (record.kind != OpKind::forward)
    return !record.clone;
  return record.clone || !record.gradient;
}

constexpr bool has_sound_memory(const OpRecord& record) {
  return record.in_place <= 2 && !record.rounded.contains(0);
}

#define TROUPE_OP(name)                                                                            \
  static_assert(ops::name.op == Op::name, "the record of " #name " says another op");              \
  static_assert(has_shape_rule(ops::name), #name ": forward needs infer, backward check");         \
  static_assert(has_autocast_rule(ops::name), #name ": forward alone needs an autocast rule");     \
  static_assert(has_sound_gradient(ops::name), #name ": its gradient does not fit its kind");      \
  static_assert(has_sound_clone(ops::name), #name ": forward with a gradient alone has a clone");  \
  static_assert(has_sound_memory(ops::name), #name ": in_place or rounded makes no sense");
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
