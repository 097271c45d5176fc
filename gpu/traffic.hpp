/// Memory traffic and operations of kernels. docs/gpu-count.md has the counting rules.
#pragma once

#include "core/choice.hpp"
#include "core/graph/tensor.hpp"

#include <cstdint>

namespace troupe {

namespace gpu {

/// Operations that a GPU computes at different rates (gpu/device_rates.hpp).
enum class OperationClass : std::uint8_t {
  wide,               ///< products of f32, without TF32
  narrow,             ///< products of f16 and bf16
  cudnn_attention,    ///< forward and backward
  attention,          ///< our kernels, forward
  attention_backward, ///< our kernels, backward
};

} // namespace gpu

template <>
inline constexpr auto choice_words<gpu::OperationClass> = word_list("wide", "narrow",
                                                                    "cudnn_attention", "attention",
                                                                    "attention_backward");

namespace gpu {

/// Returns the class of products with factors of this type.
constexpr OperationClass products_of(DType type) {
  return type == DType::f32 ? OperationClass::wide : OperationClass::narrow;
}

struct Traffic {
  double read = 0, written = 0; ///< bytes of device memory
  double operations = 0;        ///< of products; a multiplication and addition count as two
  OperationClass operation_class = OperationClass::wide;
  int launches = 0;

  double moved() const { return read + written; }

  /// Adds every field. `operation_class` is that of the last addend with products.
  Traffic& operator+=(const Traffic& more) {
    read += more.read;
    written += more.written;
    operations += more.operations;
    operation_class = more.operations > 0 ? more.operation_class : operation_class;
    launches += more.launches;
    return *this;
  }

  /// Repeats everything `times` times.
  Traffic& operator*=(int times) {
    read *= times;
    written *= times;
    operations *= times;
    launches *= times;
    return *this;
  }
};

} // namespace gpu

} // namespace troupe
