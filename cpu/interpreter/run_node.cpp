#include "ops.hpp"

#include "troupe/core/fail.hpp"

namespace troupe::cpu {

namespace {

Status check_dtypes(const Graph& graph, const Node& node) {
  for (const auto* ids : {&node.inputs, &node.outputs})
    for (const auto id : *ids) {
      const auto dtype = graph[id].dtype;
      if (dtype == DType::u8)
        return fail(Errc::unsupported, "the interpreter has no {} ({})", to_string(dtype),
                    graph[id].name);
    }
  return {};
}

} // namespace

Status run_node(const Graph& graph, const Node& node, std::span<void* const> memory,
                const RankSums* of_all_ranks) {
  TROUPE_TRY(check_dtypes(graph, node));
  const Operands operands{graph, node, memory, of_all_ranks};
  switch (node.op) {
  case Op::conv2d:
    return conv2d(operands), Status{};
  case Op::batch_norm:
    return batch_norm(operands), Status{};
  case Op::normalize:
    return normalize(operands), Status{};
  case Op::batch_norm_finalize:
    return batch_norm_finalize(operands), Status{};
  case Op::scale_shift:
    return scale_shift(operands), Status{};
  case Op::relu:
    return relu(operands), Status{};
  case Op::add:
    return add(operands), Status{};
  case Op::max_pool:
    return max_pool(operands), Status{};
  case Op::avg_pool:
    return avg_pool(operands), Status{};
  case Op::subsample_pad:
    return subsample_pad(operands), Status{};
  case Op::flatten:
  case Op::unflatten:
  case Op::cast:
    return copy_elements(operands), Status{};
  case Op::matmul:
    return matmul(operands), Status{};
  case Op::bias:
    return bias(operands), Status{};
  case Op::softmax_cross_entropy:
    return softmax_cross_entropy(operands);
  case Op::mean_squared_error:
    return mean_squared_error(operands);
  case Op::count_correct:
    return count_correct(operands);
  case Op::conv2d_backward_data:
    return conv2d_backward_data(operands), Status{};
  case Op::conv2d_backward_weight:
    return conv2d_backward_weight(operands), Status{};
  case Op::batch_norm_backward:
    return batch_norm_backward(operands), Status{};
  case Op::batch_norm_input_gradient:
    return batch_norm_input_gradient(operands), Status{};
  case Op::relu_backward:
    return relu_backward(operands), Status{};
  case Op::max_pool_backward:
    return max_pool_backward(operands), Status{};
  case Op::avg_pool_backward:
    return avg_pool_backward(operands), Status{};
  case Op::subsample_pad_backward:
    return subsample_pad_backward(operands), Status{};
  case Op::matmul_backward_data:
    return matmul_backward_data(operands), Status{};
  case Op::matmul_backward_weight:
    return matmul_backward_weight(operands), Status{};
  case Op::bias_backward:
    return bias_backward(operands), Status{};
  case Op::softmax_cross_entropy_backward:
    return softmax_cross_entropy_backward(operands);
  case Op::mean_squared_error_backward:
    return mean_squared_error_backward(operands);
  }
  return fail(Errc::internal, "the interpreter does not know op {}", static_cast<int>(node.op));
}

} // namespace troupe::cpu
