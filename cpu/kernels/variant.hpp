/// Included by the kernel sources alone: what one instruction set's variant defines, in the
/// namespace TROUPE_VARIANT, and how its loops read and write elements.
#pragma once

#include "kernels.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

// Internal linkage: the linker must not hand one variant's inline function to another.
namespace {

inline float load(const float* values, std::size_t i) {
  return values[i];
}

inline float load(const Bf16* values, std::size_t i) {
  const std::uint32_t bits = static_cast<std::uint32_t>(values[i].bits) << 16;
  return __builtin_bit_cast(float, bits);
}

inline void store(float* values, std::size_t i, float value) {
  values[i] = value;
}

/// Rounds to nearest, ties to even; a NaN stays one.
inline void store(Bf16* values, std::size_t i, float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40u;
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  values[i].bits = static_cast<std::uint16_t>(nan ? quiet : rounded);
}

} // namespace

void add(float* destination, const float* source, std::size_t elements);
void scale(float* values, float factor, std::size_t elements);
double squared_norm(const float* values, std::size_t elements);
bool all_finite(const float* values, std::size_t elements);
void optimizer_step(const OptimizerArguments& arguments, const OptimizerRange& range);
void widen(const Bf16* source, float* destination, std::size_t elements);
void narrow(const float* source, Bf16* destination, std::size_t elements);

/// Each source fills in its part.
void set_batch_norm(TypedKernels<float>& f32, TypedKernels<Bf16>& bf16);
void set_elementwise(TypedKernels<float>& f32, TypedKernels<Bf16>& bf16);
void set_pooling(TypedKernels<float>& f32, TypedKernels<Bf16>& bf16);

Kernels table();

} // namespace troupe::cpu::TROUPE_VARIANT
