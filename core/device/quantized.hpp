/// Values in blocks with one scale each, in a quarter or an eighth of their memory. All devices
/// share the arithmetic and give bit-for-bit equal results.
///
/// The encoded form has the scales of all blocks, in f32, followed by the codes of all blocks: one
/// byte per code, or half a byte with the first of two codes in the lower half. The last block is
/// stored in full; missing values are coded as 0.
#pragma once

#include "core/host_and_device.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace troupe {

enum class QuantizedType : std::uint8_t { int8, int4 };

/// Number of values that share a scale.
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

/// The largest code. The smallest is its negative, so the type's lowest number is unused.
TROUPE_HOST_DEVICE constexpr float largest_code(QuantizedType type) {
  return type == QuantizedType::int8 ? 127.0f : 7.0f;
}

/// Maps a value to an integer that orders magnitudes, with infinity and then NaN above all others.
/// A maximum of floats would lose a NaN.
TROUPE_HOST_DEVICE inline std::uint32_t magnitude_bits(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu;
}

/// Returns the scale of a block from the largest magnitude_bits of its values. The scale is NaN if
/// a value is not finite: the whole block then decodes to NaN and is not mistaken for numbers.
TROUPE_HOST_DEVICE inline float quantized_scale(QuantizedType type, std::uint32_t largest) {
  // The scale is rounded, so 127 times the scale of a larger value may be infinite.
  constexpr float most = 0x1.fffffp127f;
  // A smaller scale could lose half of itself in rounding, or become 0. Smaller values become 0.
  constexpr float least = 0x1p-126f;
  if (largest >= 0x7f800000u)
    return std::bit_cast<float>(0x7fc00000u);
  if (largest == 0)
    return 0.0f;
  const float value = std::bit_cast<float>(largest);
  const float scale = (value < most ? value : most) / largest_code(type);
  return scale > least ? scale : least;
}

/// Rounds to nearest, ties to even. Returns 0 for a scale of 0 or NaN, so that every value has a
/// code. Divides, because a product with the scale's inverse would round twice.
TROUPE_HOST_DEVICE inline int quantized_code(QuantizedType type, float value, float scale) {
  const float most = largest_code(type);
  const float exact = scale > 0.0f ? value / scale : 0.0f;
  const float from_below = exact > -most ? exact : -most;
  return static_cast<int>(std::rint(from_below < most ? from_below : most));
}

TROUPE_HOST_DEVICE inline float quantized_value(int code, float scale) {
  return static_cast<float>(code) * scale;
}

/// Packs two int4 codes into a byte, in two's complement.
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
