/// Included only by the kernel sources: definitions of one instruction set's variant, in the
/// namespace TROUPE_VARIANT, and how its loops load and store elements.
#pragma once

#include "cpu/kernels/kernels.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

// Internal linkage: the linker must not merge inline functions of different variants.
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

/// Rounds to nearest, ties to even; a NaN stays a NaN.
inline void store(Bf16* values, std::size_t i, float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40u;
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  values[i].bits = static_cast<std::uint16_t>(nan ? quiet : rounded);
}

/// Exact, including subnormals.
inline float load(const F16* values, std::size_t i) {
  constexpr std::uint32_t bias = (127 - 15) << 23, hidden = 1u << 23, special = 31u << 23;
  const std::uint32_t half = values[i].bits;
  const std::uint32_t magnitude = (half & 0x7fffu) << 13;
  // A subnormal has no hidden bit: it gets one, of 2^-14, which is subtracted again.
  const float subnormal = __builtin_bit_cast(float, magnitude + bias + hidden) - 0x1p-14f;
  std::uint32_t bits = magnitude + (magnitude >= special ? 2 * bias : bias);
  bits = magnitude < hidden ? __builtin_bit_cast(std::uint32_t, subnormal) : bits;
  return __builtin_bit_cast(float, bits | (half & 0x8000u) << 16);
}

/// Rounds to nearest, ties to even: to infinity from 65520 on; a NaN stays a NaN.
inline void store(F16* values, std::size_t i, float value) {
  constexpr std::uint32_t bias = (127 - 15) << 23, smallest_normal = 113u << 23;
  constexpr std::uint32_t infinity = 0x7f800000u;
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t normal = (magnitude - bias + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // A float of [0.5, 1) has a subnormal's unit, 2^-24, so that the addition rounds.
  const float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
  const std::uint32_t subnormal =
      __builtin_bit_cast(std::uint32_t, shifted) - __builtin_bit_cast(std::uint32_t, 0.5f);
  std::uint32_t half = magnitude < smallest_normal ? subnormal : normal;
  half = magnitude >= __builtin_bit_cast(std::uint32_t, 65520.0f) ? 0x7c00u : half;
  half = magnitude > infinity ? 0x7e00u : half;
  values[i].bits = static_cast<std::uint16_t>(half | ((bits >> 16) & 0x8000u));
}

/// Returns the nearest value of type T.
template <class T>
float rounded(float value) {
  T stored;
  store(&stored, 0, value);
  return load(&stored, 0);
}

} // namespace

/// Each source fills in its entries of the table.
#define TROUPE_DECLARE(source) void set_##source(Kernels& kernels);
TROUPE_KERNEL_SOURCES(TROUPE_DECLARE)
#undef TROUPE_DECLARE

Kernels table();

} // namespace troupe::cpu::TROUPE_VARIANT
