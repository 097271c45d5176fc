// Ops that passes for other devices create from batch norm (nn/passes/fuse_statistics), and that
// the library cannot run.
#include "cpu/onednn/lowering.hpp"

#include <fmt/format.h>

namespace troupe::cpu {

Error unsupported(const Graph& graph, const Node& node) {
  return {Errc::unsupported, fmt::format("the oneDNN engine cannot run the fused {} ({})",
                                         to_string(node.op), graph[node.outputs[0]].name)};
}

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
