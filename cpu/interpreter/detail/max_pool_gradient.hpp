/// What max_pool_backward is made of, for ops that do more in one.
#pragma once

#include "cpu/interpreter/detail/operands.hpp"

namespace troupe::cpu {

/// The gradient of x, of that of y and the saved positions in y's windows.
Values max_pool_gradient(const Tensor& x, const Tensor& y, const PoolAttributes& attributes,
                         const Values& dy, const Values& position);

} // namespace troupe::cpu
