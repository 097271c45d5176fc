/// The arithmetic of each precision.mode.
#pragma once

#include "core/choice.hpp"
#include "core/graph/tensor.hpp"

#include <string>

namespace troupe {

enum class Precision : std::uint8_t {
  fp32,
  tf32,     ///< as fp32, but convolutions and matmuls round their operands to 10 bits of mantissa
  fp16,     ///< everything in f16, including parameters
  bf16,     ///< everything in bf16, including parameters
  amp_fp16, ///< autocast to f16 with fp32 master parameters, and loss scaling
  amp_bf16, ///< autocast to bf16 with fp32 master parameters
};

template <>
inline constexpr auto choice_words<Precision> = word_list("fp32", "tf32", "fp16", "bf16",
                                                          "amp_fp16", "amp_bf16");

/// The type of activations that convolutions and matmuls read.
constexpr DType compute_type(Precision precision) {
  switch (precision) {
  case Precision::fp16:
  case Precision::amp_fp16:
    return DType::f16;
  case Precision::bf16:
  case Precision::amp_bf16:
    return DType::bf16;
  default:
    return DType::f32;
  }
}

/// The type whose values parameters, gradients, optimizer state and statistics hold (ADR 0009).
constexpr DType stored_type(Precision precision) {
  const bool pure = precision == Precision::fp16 || precision == Precision::bf16;
  return pure ? compute_type(precision) : DType::f32;
}

/// Returns "fp32 arithmetic, fp16 activations": describes a precision whose activations are
/// multiplied in the `arithmetic` type.
std::string describe(Precision precision, DType arithmetic);

/// Whether ops choose between f32 and the compute type (nn/passes/autocast).
constexpr bool is_amp(Precision precision) {
  return precision == Precision::amp_fp16 || precision == Precision::amp_bf16;
}

/// Whether gradients would underflow without a loss scale (loss_scale.hpp).
constexpr bool scales_loss(Precision precision) {
  return precision == Precision::amp_fp16;
}

} // namespace troupe
