// Blocks of values that share a scale (core/device/quantized.hpp).
#include "cpu/kernels/detail/variant.hpp"

#include <cstring>

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

constexpr std::size_t block_size = quantized_block;

template <QuantizedType Type>
void store_codes(const std::int8_t* codes, std::uint8_t* to) {
  if constexpr (Type == QuantizedType::int8)
    std::memcpy(to, codes, block_size);
  else
    for (std::size_t i = 0; i < block_size / 2; ++i)
      to[i] = join_codes(codes[2 * i], codes[2 * i + 1]);
}

template <QuantizedType Type>
void load_codes(const std::uint8_t* from, std::int8_t* codes) {
  if constexpr (Type == QuantizedType::int8)
    std::memcpy(codes, from, block_size);
  else
    for (std::size_t i = 0; i < block_size / 2; ++i) {
      codes[2 * i] = static_cast<std::int8_t>(first_code(from[i]));
      codes[2 * i + 1] = static_cast<std::int8_t>(second_code(from[i]));
    }
}

/// Encodes a whole block; returns its scale.
template <QuantizedType Type>
float encode(const float* __restrict values, std::uint8_t* __restrict to) {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < block_size; ++i) {
    const std::uint32_t bits = magnitude_bits(values[i]);
    largest = bits > largest ? bits : largest;
  }
  const float scale = quantized_scale(Type, largest);
  std::int8_t codes[block_size];
  for (std::size_t i = 0; i < block_size; ++i)
    codes[i] = static_cast<std::int8_t>(quantized_code(Type, values[i], scale));
  store_codes<Type>(codes, to);
  return scale;
}

/// Decodes a whole block.
template <QuantizedType Type>
void decode(const std::uint8_t* __restrict from, float scale, float* __restrict values) {
  std::int8_t codes[block_size];
  load_codes<Type>(from, codes);
  for (std::size_t i = 0; i < block_size; ++i)
    values[i] = quantized_value(codes[i], scale);
}

template <QuantizedType Type>
void quantize_blocks(const float* source, float* scales, std::uint8_t* codes,
                     std::size_t elements) {
  for (; elements >= block_size; elements -= block_size) {
    *scales++ = encode<Type>(source, codes);
    source += block_size;
    codes += quantized_code_bytes(Type);
  }
  if (elements == 0)
    return;
  float values[block_size] = {};
  std::memcpy(values, source, elements * sizeof(float));
  *scales = encode<Type>(values, codes);
}

template <QuantizedType Type>
void dequantize_blocks(const float* scales, const std::uint8_t* codes, float* destination,
                       std::size_t elements) {
  for (; elements >= block_size; elements -= block_size) {
    decode<Type>(codes, *scales++, destination);
    destination += block_size;
    codes += quantized_code_bytes(Type);
  }
  if (elements == 0)
    return;
  float values[block_size];
  decode<Type>(codes, *scales, values);
  std::memcpy(destination, values, elements * sizeof(float));
}

void quantize(QuantizedType type, const float* source, float* scales, std::uint8_t* codes,
              std::size_t elements) {
  if (type == QuantizedType::int8)
    quantize_blocks<QuantizedType::int8>(source, scales, codes, elements);
  else
    quantize_blocks<QuantizedType::int4>(source, scales, codes, elements);
}

void dequantize(QuantizedType type, const float* scales, const std::uint8_t* codes,
                float* destination, std::size_t elements) {
  if (type == QuantizedType::int8)
    dequantize_blocks<QuantizedType::int8>(scales, codes, destination, elements);
  else
    dequantize_blocks<QuantizedType::int4>(scales, codes, destination, elements);
}

} // namespace

void set_quantize(Kernels& kernels) {
  kernels.quantize = quantize;
  kernels.dequantize = dequantize;
}

} // namespace troupe::cpu::TROUPE_VARIANT
