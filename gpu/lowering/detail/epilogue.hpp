/// Kernels that do the work of a matrix product's epilogue, where cuBLASLt lacks the epilogue or is
/// slower with it.
#pragma once

#include "gpu/cublas/matmul.hpp"
#include "gpu/lowering/detail/step.hpp"
#include "gpu/traffic.hpp"

namespace troupe::gpu {

inline bool has_epilogue(const MatmulOptions& o) {
  return o.bias || o.gelu;
}

inline MatmulOptions without_epilogue(MatmulOptions o) {
  o.bias = o.gelu = false;
  return o;
}

/// Traffic of the kernels, without the product.
Traffic epilogue_traffic(const MatmulOptions& options);

/// Enqueues the kernels for a node whose plain product is at `product`.
void launch_epilogue(const MatmulOptions& options, const NodeLaunch& launch, void* product);

} // namespace troupe::gpu
