#include "core/fail.hpp"
#include "cpu/interpreter/ops.hpp"

namespace troupe::cpu {

namespace {

Status check_dtypes(const Graph& graph, const Node& node) {
  for (const auto* ids : {&node.inputs, &node.outputs})
    for (const auto id : *ids) {
      const auto dtype = graph[id].dtype;
      if (dtype == DType::f64)
        return fail(Errc::unsupported, "the interpreter does not support {} ({})", to_string(dtype),
                    graph[id].name);
    }
  return {};
}

} // namespace

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch-enum"
Status run_node(const Graph& graph, const Node& node, std::span<void* const> memory,
                const RankSumsOfNode& rank_sums) {
  TROUPE_TRY(check_dtypes(graph, node));
  const Operands operands{graph, node, memory, rank_sums};
  switch (node.op) {
#define TROUPE_OP(name)                                                                            \
  case Op::name:                                                                                   \
    return name(operands);
#include "core/graph/ops.def"
#undef TROUPE_OP
  }
  return fail(Errc::internal, "the interpreter does not support op {}", static_cast<int>(node.op));
}
#pragma GCC diagnostic pop

} // namespace troupe::cpu
