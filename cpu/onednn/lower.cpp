#include "lowering.hpp"
#include "troupe/core/fail.hpp"

namespace troupe::cpu {

Result<StepPtr> lower(Lowering& lowering, const Node& node) try {
  switch (node.op) {
  case Op::conv2d:
  case Op::conv2d_backward_data:
  case Op::conv2d_backward_weight:
    return is_pointwise(node) ? lower_pointwise(lowering, node) : lower_convolution(lowering, node);
  case Op::batch_norm:
  case Op::batch_norm_backward:
  case Op::normalize:
    return lower_batch_norm(lowering, node);
  case Op::relu:
  case Op::relu_backward:
  case Op::add:
  case Op::cast:
  case Op::flatten:
  case Op::unflatten:
    return lower_elementwise(lowering, node);
  case Op::max_pool:
  case Op::max_pool_backward:
  case Op::avg_pool:
  case Op::avg_pool_backward:
  case Op::subsample_pad:
  case Op::subsample_pad_backward:
    return lower_pooling(lowering, node);
  case Op::matmul:
  case Op::matmul_backward_data:
  case Op::matmul_backward_weight:
  case Op::bias:
  case Op::bias_backward:
    return lower_matmul(lowering, node);
  case Op::softmax_cross_entropy:
  case Op::softmax_cross_entropy_backward:
  case Op::mean_squared_error:
  case Op::mean_squared_error_backward:
  case Op::count_correct:
    return lower_loss(lowering, node);
  case Op::batch_norm_finalize:
  case Op::scale_shift:
  case Op::batch_norm_input_gradient:
    return fail(Errc::unsupported, "the oneDNN engine has no {}", to_string(node.op));
  }
  return fail(Errc::internal, "unknown op {}", static_cast<int>(node.op));
} catch (const dnnl::error& error) {
  return fail(Errc::device, "oneDNN cannot lower {}: {}", to_string(node.op), error.what());
}

} // namespace troupe::cpu
