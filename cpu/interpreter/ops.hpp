/// The scalar meaning of every op, one function each: slow, clear, accumulating in double. Other
/// engines are compared with these; what an op takes and gives is in core/graph/ops.def.
#pragma once

#include "cpu/interpreter/detail/operands.hpp"

namespace troupe::cpu {

/// Runs one node over host memory (by TensorId). The graph must have been validated.
/// Errors: data for a label that is not a class; unsupported for a dtype.
Status run_node(const Graph& graph, const Node& node, std::span<void* const> memory,
                const RankSumsOfNode& rank_sums = {});

/// What each op does: a function of its name.
#define TROUPE_OP(name) Status name(const Operands& operands);
#include "core/graph/ops.def"
#undef TROUPE_OP

/// What conv2d_backward_data does with dx when it has batch_norm_relu (fused_batch_norm.cpp).
void write_masked_and_reduced(const Operands& operands, Values dx);

} // namespace troupe::cpu
