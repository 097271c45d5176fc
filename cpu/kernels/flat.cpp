// Element-wise kernels on flat fp32 buffers, also to and from blocks of values that share a scale
// (core/device/quantized.hpp).
#include "cpu/kernels/detail/variant.hpp"

#include <cstring>

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

void add(float* __restrict destination, const float* __restrict source, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i)
    destination[i] += source[i];
}

void add_product(float* __restrict sum, const float* a, const float* b, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i)
    sum[i] += a[i] * b[i];
}

void scale(float* values, float factor, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i)
    values[i] *= factor;
}

double squared_norm(const OptimizerArguments& arguments, const float* gradients,
                    std::size_t elements) {
  const auto a = arguments; // a copy: its values stay in registers
  // Sixteen sums side by side: a fixed order that the compiler can still vectorize.
  constexpr std::size_t lanes = 16;
  double sums[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= elements; i += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const auto g = static_cast<double>(clipped_by_value(a, gradients[i + lane]));
      sums[lane] += g * g;
    }
  double total = 0;
  for (; i < elements; ++i) {
    const auto g = static_cast<double>(clipped_by_value(a, gradients[i]));
    total += g * g;
  }
  for (const double sum : sums)
    total += sum;
  return total;
}

bool all_finite(const float* values, std::size_t elements) {
  constexpr std::uint32_t exponent = 0x7f800000u;
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    const auto bits = __builtin_bit_cast(std::uint32_t, values[i]);
    found |= (bits & exponent) == exponent ? 1u : 0u;
  }
  return found == 0;
}

/// T: the type that is stored (OptimizerArguments::stored).
template <class T>
void sgd(const OptimizerArguments& arguments, const OptimizerRange& range) {
  const auto a = arguments; // a copy: stores through the pointers cannot change it
  float* __restrict const parameters = range.parameters;
  const float* __restrict const gradients = range.gradients;
  if (a.momentum == 0.0f) {
    float none = 0;
    for (std::size_t i = 0; i < range.elements; ++i) {
      sgd_update(a, parameters[i], gradients[i], none);
      parameters[i] = rounded<T>(parameters[i]);
    }
    return;
  }
  float* __restrict const velocities = range.state0;
  for (std::size_t i = 0; i < range.elements; ++i) {
    sgd_update(a, parameters[i], gradients[i], velocities[i]);
    parameters[i] = rounded<T>(parameters[i]);
    velocities[i] = rounded<T>(velocities[i]);
  }
}

template <class T>
void adam(const OptimizerArguments& arguments, const OptimizerRange& range) {
  const auto a = arguments;
  const auto corrections = adam_corrections(a);
  float* __restrict const parameters = range.parameters;
  const float* __restrict const gradients = range.gradients;
  float* __restrict const first = range.state0;
  float* __restrict const second = range.state1;
  for (std::size_t i = 0; i < range.elements; ++i) {
    adam_update(a, corrections, parameters[i], gradients[i], first[i], second[i]);
    parameters[i] = rounded<T>(parameters[i]);
    first[i] = rounded<T>(first[i]);
    second[i] = rounded<T>(second[i]);
  }
}

void optimizer_step(const OptimizerArguments& arguments, const OptimizerRange& range) {
  with_element(arguments.stored, [&]<class T>(T) {
    if (arguments.kind == OptimizerKind::sgd)
      sgd<T>(arguments, range);
    else
      adam<T>(arguments, range);
  });
}

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

void set_flat(Kernels& kernels) {
  kernels.add = add;
  kernels.add_product = add_product;
  kernels.scale = scale;
  kernels.squared_norm = squared_norm;
  kernels.all_finite = all_finite;
  kernels.optimizer_step = optimizer_step;
  kernels.quantize = quantize;
  kernels.dequantize = dequantize;
}

} // namespace troupe::cpu::TROUPE_VARIANT
