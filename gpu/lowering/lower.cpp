#include "lowering.hpp"

#include "troupe/core/fail.hpp"

namespace troupe::gpu {

Result<StepPtr> lower(Lowering& lowering, const Node& node) {
  switch (node.op) {
  case Op::conv2d:
  case Op::conv2d_backward_data:
  case Op::conv2d_backward_weight:
    return lower_convolution(lowering, node);
  case Op::batch_norm:
  case Op::batch_norm_backward:
  case Op::batch_norm_finalize:
  case Op::batch_norm_input_gradient:
  case Op::normalize:
  case Op::scale_shift:
    return lower_batch_norm(lowering, node);
  case Op::relu:
  case Op::relu_backward:
  case Op::add:
  case Op::bias:
  case Op::bias_backward:
  case Op::cast:
  case Op::flatten:
  case Op::unflatten:
  case Op::subsample_pad:
  case Op::subsample_pad_backward:
    return lower_elementwise(lowering, node);
  case Op::max_pool:
  case Op::max_pool_backward:
  case Op::avg_pool:
  case Op::avg_pool_backward:
    return lower_pooling(lowering, node);
  case Op::matmul:
  case Op::matmul_backward_data:
  case Op::matmul_backward_weight:
    return lower_matmul(lowering, node);
  case Op::softmax_cross_entropy:
  case Op::softmax_cross_entropy_backward:
  case Op::mean_squared_error:
  case Op::mean_squared_error_backward:
  case Op::count_correct:
    return lower_loss(lowering, node);
  }
  return fail(Errc::internal, "unknown op {}", static_cast<int>(node.op));
}

} // namespace troupe::gpu
