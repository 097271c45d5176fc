#include "core/fail.hpp"
#include "cpu/onednn/lowering.hpp"

#include <fmt/format.h>

namespace troupe::cpu {

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch-enum"
Result<StepPtr> lower(Lowering& lowering, const Node& node) try {
  switch (node.op) {
#define TROUPE_OP(name)                                                                            \
  case Op::name:                                                                                   \
    return lower_##name(lowering, node);
#include "core/graph/ops.def"
#undef TROUPE_OP
  }
  return fail(Errc::internal, "the oneDNN engine does not support op {}",
              static_cast<int>(node.op));
} catch (const dnnl::error& error) {
  return fail(Errc::device, "oneDNN cannot lower {}: {}", to_string(node.op), error.what());
}
#pragma GCC diagnostic pop

Error unsupported(const Graph& graph, const Node& node) {
  return {Errc::unsupported, fmt::format("the oneDNN engine cannot run the fused {} ({})",
                                         to_string(node.op), graph[node.outputs[0]].name)};
}

// Ops that passes for other devices create from batch norm (nn/passes/fuse_statistics), and that
// the library cannot run.
Result<StepPtr> lower_batch_norm_statistics(Lowering& lowering, const Node& node) {
  return failure(unsupported(lowering.graph, node));
}

Result<StepPtr> lower_batch_norm_finalize(Lowering& lowering, const Node& node) {
  return failure(unsupported(lowering.graph, node));
}

Result<StepPtr> lower_scale_shift(Lowering& lowering, const Node& node) {
  return failure(unsupported(lowering.graph, node));
}

Result<StepPtr> lower_batch_norm_input_gradient(Lowering& lowering, const Node& node) {
  return failure(unsupported(lowering.graph, node));
}

} // namespace troupe::cpu
