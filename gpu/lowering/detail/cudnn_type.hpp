/// cuDNN's names of element types.
#pragma once

#include "core/graph/tensor.hpp"

#include <cudnn.h>

namespace troupe::gpu {

/// `type`: f16, bf16 or f32.
constexpr cudnnDataType_t cudnn_type(DType type) {
  return type == DType::f16    ? CUDNN_DATA_HALF
         : type == DType::bf16 ? CUDNN_DATA_BFLOAT16
                               : CUDNN_DATA_FLOAT;
}

} // namespace troupe::gpu
