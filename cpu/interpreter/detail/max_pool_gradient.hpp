/// The core of max_pool_backward, for fused ops.
#pragma once

#include "cpu/interpreter/detail/operands.hpp"

namespace troupe::cpu {

/// Returns the gradient of x, from the gradient of y and the saved positions in y's windows.
Values max_pool_gradient(const Tensor& x, const Tensor& y, const PoolAttributes& attributes,
                         const Values& dy, const Values& position);

} // namespace troupe::cpu
