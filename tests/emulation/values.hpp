/// Values in the types of devices, as the emulated libraries use them: floats that are rounded when
/// they are stored.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace emulation {

/// i32 and boolean exist only between the operations of a cuDNN graph.
enum class Type : std::uint8_t { f32, f16, bf16, i32, boolean };

inline std::size_t size_of(Type type) {
  return type == Type::f16 || type == Type::bf16 ? 2 : 4;
}

inline std::vector<float> load(const void* from, std::size_t count, Type type) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = type == Type::f16    ? __half2float(static_cast<const __half*>(from)[i])
                : type == Type::bf16 ? __bfloat162float(static_cast<const __nv_bfloat16*>(from)[i])
                                     : static_cast<const float*>(from)[i];
  return values;
}

inline void store(std::span<const float> values, void* to, Type type) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (type == Type::f16)
      static_cast<__half*>(to)[i] = __float2half_rn(values[i]);
    else if (type == Type::bf16)
      static_cast<__nv_bfloat16*>(to)[i] = __float2bfloat16_rn(values[i]);
    else
      static_cast<float*>(to)[i] = values[i];
}

/// Rounds as a tensor core rounds an f32 factor: to 10 bits of the mantissa, to nearest.
inline void round_to_tf32(std::span<float> values) {
  constexpr std::uint32_t exponent = 0x7f800000, dropped = 0x1fff, half = 0x1000;
  for (auto& value : values)
    if (const auto bits = std::bit_cast<std::uint32_t>(value); (bits & exponent) != exponent)
      value = std::bit_cast<float>((bits + half) & ~dropped);
}

} // namespace emulation
