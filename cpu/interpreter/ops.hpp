/// The scalar meaning of every op, one function each: slow, clear, accumulating in double. Other
/// engines are compared with these; what an op takes and gives is in core/graph.hpp.
#pragma once

#include "operands.hpp"

namespace troupe::cpu {

/// Runs one node over host memory (by TensorId). The graph must have been validated.
/// `of_all_ranks`: see Operands. Errors: data for a label that is not a class; unsupported for a
/// dtype.
Status run_node(const Graph& graph, const Node& node, std::span<void* const> memory,
                const RankSums* of_all_ranks = nullptr);

// convolution.cpp
void conv2d(const Operands& operands);
void conv2d_backward_data(const Operands& operands);
void conv2d_backward_weight(const Operands& operands);
// batch_norm.cpp
void batch_norm(const Operands& operands);
void normalize(const Operands& operands);
void batch_norm_backward(const Operands& operands);
/// This rank's sums of batch_norm or batch_norm_backward; nothing else is written.
void sum_for_ranks(const Operands& operands, RankSums& sums);
// fused_batch_norm.cpp
void batch_norm_finalize(const Operands& operands);
void scale_shift(const Operands& operands);
/// What conv2d_backward_data does with dx when it has batch_norm_relu.
void write_masked_and_reduced(const Operands& operands, Values dx);
void batch_norm_input_gradient(const Operands& operands);
// pooling.cpp
void max_pool(const Operands& operands);
void max_pool_backward(const Operands& operands);
void avg_pool(const Operands& operands);
void avg_pool_backward(const Operands& operands);
// matmul.cpp
void matmul(const Operands& operands);
void matmul_backward_data(const Operands& operands);
void matmul_backward_weight(const Operands& operands);
void bias(const Operands& operands);
void bias_backward(const Operands& operands);
// elementwise.cpp
void relu(const Operands& operands);
void relu_backward(const Operands& operands);
void add(const Operands& operands);
/// cast, flatten, unflatten: the same elements in another type or shape.
void copy_elements(const Operands& operands);
void subsample_pad(const Operands& operands);
void subsample_pad_backward(const Operands& operands);
// loss.cpp
Status softmax_cross_entropy(const Operands& operands);
Status softmax_cross_entropy_backward(const Operands& operands);
Status mean_squared_error(const Operands& operands);
Status mean_squared_error_backward(const Operands& operands);
Status count_correct(const Operands& operands);

} // namespace troupe::cpu
