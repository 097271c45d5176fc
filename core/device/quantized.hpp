/// Values in blocks that have a scale each, in a quarter or an eighth of their memory; the
/// arithmetic is shared by every device, and alike to the bit.
///
/// The encoded form has the scales of all blocks, f32, and behind them the codes of all blocks: a
/// byte each, or half of one, the first of two in the lower half. The last block is whole: what it
/// lacks is coded as 0.
#pragma once

#include "core/host_and_device.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace troupe {

enum class QuantizedType : std::uint8_t { int8, int4 };

/// Values that share a scale.
inline constexpr std::size_t quantized_block = 128;

TROUPE_HOST_DEVICE constexpr std::size_t quantized_blocks(std::size_t elements) {
  return (elements + quantized_block - 1) / quantized_block;
}

/// Bytes of a block's codes.
TROUPE_HOST_DEVICE constexpr std::size_t quantized_code_bytes(QuantizedType type) {
  return type == QuantizedType::int8 ? quantized_block : quantized_block / 2;
}

/// Bytes of the encoded form.
TROUPE_HOST_DEVICE constexpr std::size_t quantized_bytes(QuantizedType type, std::size_t elements) {
  return quantized_blocks(elements) * (sizeof(float) + quantized_code_bytes(type));
}

/// The largest code; the smallest is its negative, so that a type's lowest number is unused.
TROUPE_HOST_DEVICE constexpr float largest_code(QuantizedType type) {
  return type == QuantizedType::int8 ? 127.0f : 7.0f;
}

/// The size of a value as a number that is the larger the larger the size, with infinity and then
/// NaN above all others: a maximum of floats would lose a NaN.
TROUPE_HOST_DEVICE inline std::uint32_t magnitude_bits(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu;
}

/// The scale of a block, by the largest magnitude_bits of its values. NaN when one of them is not
/// finite, so that the whole block is NaN when it is decoded, and nobody takes it for numbers.
TROUPE_HOST_DEVICE inline float quantized_scale(QuantizedType type, std::uint32_t largest) {
  // The scale is rounded: 127 times that of a larger value may be infinite.
  constexpr float most = 0x1.fffffp127f;
  // A scale below could be rounded by half of itself, or to 0. What is smaller becomes 0.
  constexpr float least = 0x1p-126f;
  if (largest >= 0x7f800000u)
    return std::bit_cast<float>(0x7fc00000u);
  if (largest == 0)
    return 0.0f;
  const float value = std::bit_cast<float>(largest);
  const float scale = (value < most ? value : most) / largest_code(type);
  return scale > least ? scale : least;
}

/// Rounds to nearest, ties to even. 0 for a scale of 0 or NaN: every value has a code. A division,
/// as a product with the scale's inverse rounds twice.
TROUPE_HOST_DEVICE inline int quantized_code(QuantizedType type, float value, float scale) {
  const float most = largest_code(type);
  const float exact = scale > 0.0f ? value / scale : 0.0f;
  const float from_below = exact > -most ? exact : -most;
  return static_cast<int>(std::rint(from_below < most ? from_below : most));
}

TROUPE_HOST_DEVICE inline float quantized_value(int code, float scale) {
  return static_cast<float>(code) * scale;
}

/// Two codes of int4 in a byte, in two's complement.
TROUPE_HOST_DEVICE inline std::uint8_t join_codes(int first, int second) {
  return static_cast<std::uint8_t>((static_cast<unsigned>(first) & 15u) |
                                   (static_cast<unsigned>(second) & 15u) << 4);
}
TROUPE_HOST_DEVICE inline int first_code(std::uint8_t byte) {
  return static_cast<int>((byte & 15u) ^ 8u) - 8;
}
TROUPE_HOST_DEVICE inline int second_code(std::uint8_t byte) {
  return static_cast<int>((byte >> 4) ^ 8u) - 8;
}

} // namespace troupe
