/// The 16-bit floating types as bits: IEEE 754 binary16 (f16) and bfloat16 (bf16). Conversions
/// round to nearest, ties to even; NaN stays NaN and becomes quiet. For host code: devices have
/// their own instructions.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace troupe {

inline std::uint16_t bf16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value))
    return static_cast<std::uint16_t>((bits >> 16) | 0x40u); // quiet
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float float_from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

/// Values from 65520 on, halfway to 2^16, become infinite.
inline std::uint16_t f16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  const auto with_sign = [sign](std::uint32_t half) {
    return static_cast<std::uint16_t>(sign | half);
  };
  if (magnitude > 0x7f800000u)
    return with_sign(0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= std::bit_cast<std::uint32_t>(65520.0f))
    return with_sign(0x7c00u);
  if (magnitude < std::bit_cast<std::uint32_t>(0x1p-14f)) {
    // Subnormal: a float in [0.5, 1) has the same unit, 2^-24, so the addition rounds correctly.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return with_sign(std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5f));
  }
  constexpr std::uint32_t bias = (127 - 15) << 23;
  return with_sign((magnitude - bias + 0xfffu + ((magnitude >> 13) & 1u)) >> 13);
}

inline float float_from_f16(std::uint16_t half) {
  const auto sign = std::uint32_t{half & 0x8000u} << 16;
  const auto magnitude = std::uint32_t{half & 0x7fffu};
  if (magnitude >= 0x7c00u)
    return std::bit_cast<float>(sign | 0x7f800000u | (magnitude << 13));
  if (magnitude < 0x400u)
    return std::copysign(static_cast<float>(magnitude) * 0x1p-24f,
                         std::bit_cast<float>(sign | 0x3f800000u));
  return std::bit_cast<float>(sign | ((magnitude << 13) + (std::uint32_t{127 - 15} << 23)));
}

} // namespace troupe
