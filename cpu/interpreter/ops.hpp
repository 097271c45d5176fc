/// The scalar definition of every op, one function each: slow, clear, accumulating in double. Other
/// engines are compared with these; core/graph/ops.def lists the inputs and outputs of each op.
#pragma once

#include "cpu/interpreter/detail/operands.hpp"

namespace troupe::cpu {

/// Runs one node over host memory (by TensorId). Precondition: the graph is validated. Errors:
/// data, for a label that is not a class; unsupported, for a dtype.
Status run_node(const Graph& graph, const Node& node, std::span<void* const> memory,
                const RankSumsOfNode& rank_sums = {});

/// One function for each op, with the op's name.
#define TROUPE_OP(name) Status name(const Operands& operands);
#include "core/graph/ops.def"
#undef TROUPE_OP

/// Writes dx and reductions of conv2d_backward_data with batch_norm_relu (fused_batch_norm.cpp).
void write_masked_and_reduced(const Operands& operands, Values dx);

/// Returns the gradient of x of a max_pool, from the gradient of y and the saved positions in y's
/// windows (pooling.cpp).
Values max_pool_gradient(const Tensor& x, const Tensor& y, const PoolAttributes& attributes,
                         const Values& dy, const Values& position);

} // namespace troupe::cpu
