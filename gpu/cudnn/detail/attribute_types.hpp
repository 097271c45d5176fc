/// Maps a value's type to the type tag that cuDNN's attribute functions require.
#pragma once

#include "gpu/libraries.hpp"

#include <cstdint>

namespace troupe::gpu::cudnn {

template <class T>
struct AttributeType;

#define TROUPE_CUDNN_ATTRIBUTE(type, tag)                                                          \
  template <>                                                                                      \
  struct AttributeType<type> {                                                                     \
    static constexpr auto value = tag;                                                             \
  }
TROUPE_CUDNN_ATTRIBUTE(std::int64_t, CUDNN_TYPE_INT64);
TROUPE_CUDNN_ATTRIBUTE(float, CUDNN_TYPE_FLOAT);
TROUPE_CUDNN_ATTRIBUTE(bool, CUDNN_TYPE_BOOLEAN);
TROUPE_CUDNN_ATTRIBUTE(char, CUDNN_TYPE_CHAR);
TROUPE_CUDNN_ATTRIBUTE(void*, CUDNN_TYPE_VOID_PTR);
TROUPE_CUDNN_ATTRIBUTE(cudnnHandle_t, CUDNN_TYPE_HANDLE);
TROUPE_CUDNN_ATTRIBUTE(cudnnDataType_t, CUDNN_TYPE_DATA_TYPE);
TROUPE_CUDNN_ATTRIBUTE(cudnnConvolutionMode_t, CUDNN_TYPE_CONVOLUTION_MODE);
TROUPE_CUDNN_ATTRIBUTE(cudnnPointwiseMode_t, CUDNN_TYPE_POINTWISE_MODE);
TROUPE_CUDNN_ATTRIBUTE(cudnnGenStatsMode_t, CUDNN_TYPE_GENSTATS_MODE);
TROUPE_CUDNN_ATTRIBUTE(cudnnBackendHeurMode_t, CUDNN_TYPE_HEUR_MODE);
TROUPE_CUDNN_ATTRIBUTE(cudnnBackendKnobType_t, CUDNN_TYPE_KNOB_TYPE);
TROUPE_CUDNN_ATTRIBUTE(cudnnBackendNumericalNote_t, CUDNN_TYPE_NUMERICAL_NOTE);
TROUPE_CUDNN_ATTRIBUTE(cudnnBackendBehaviorNote_t, CUDNN_TYPE_BEHAVIOR_NOTE);
#undef TROUPE_CUDNN_ATTRIBUTE

} // namespace troupe::gpu::cudnn
