/// 16-byte loads and stores of several elements, as floats.
#pragma once

#include "core/graph/tensor.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace troupe::gpu {

/// Elements in 16 bytes.
template <class T>
inline constexpr int pack_width = 16 / static_cast<int>(sizeof(T));

template <class T, int Width>
struct alignas(sizeof(T) * Width) Pack {
  T values[Width];
};

__device__ inline float to_float(float value) {
  return value;
}
__device__ inline float to_float(__half value) {
  return __half2float(value);
}
__device__ inline float to_float(__nv_bfloat16 value) {
  return __bfloat162float(value);
}

template <class T>
__device__ inline T from_float(float value) {
  if constexpr (sizeof(T) == 4)
    return value;
  else if constexpr (std::is_same_v<T, __half>)
    return __float2half_rn(value);
  else
    return __float2bfloat16_rn(value);
}

/// Rounds each value to the nearest value of a floating-point dtype.
template <int Width>
__device__ inline void round_floats(DType dtype, float (&values)[Width]) {
#pragma unroll
  for (int i = 0; i < Width; ++i)
    if (dtype == DType::f16)
      values[i] = to_float(from_float<__half>(values[i]));
    else if (dtype == DType::bf16)
      values[i] = to_float(from_float<__nv_bfloat16>(values[i]));
}

/// Elements per access: the largest power of two that divides Width, at most 16 bytes.
template <class T, int Width>
inline constexpr int chunk_width = (Width & -Width) < pack_width<T> ? (Width & -Width)
                                                                    : pack_width<T>;

/// Precondition: the memory is aligned to chunk_width elements.
template <int Width, class T>
__device__ inline void load_floats(const T* from, float (&values)[Width]) {
  constexpr int chunk = chunk_width<T, Width>;
#pragma unroll
  for (int at = 0; at < Width; at += chunk) {
    const auto pack = *reinterpret_cast<const Pack<T, chunk>*>(from + at);
#pragma unroll
    for (int i = 0; i < chunk; ++i)
      values[at + i] = to_float(pack.values[i]);
  }
}

template <int Width, class T>
__device__ inline void store_floats(T* to, const float (&values)[Width]) {
  constexpr int chunk = chunk_width<T, Width>;
#pragma unroll
  for (int at = 0; at < Width; at += chunk) {
    Pack<T, chunk> pack;
#pragma unroll
    for (int i = 0; i < chunk; ++i)
      pack.values[i] = from_float<T>(values[at + i]);
    *reinterpret_cast<Pack<T, chunk>*>(to + at) = pack;
  }
}

/// Whether all of these addresses allow 16-byte accesses. Null does.
template <class... Pointers>
bool aligned_for_packs(const Pointers*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0) && ...);
}

/// Whether rows of `columns` elements at these addresses consist of whole, aligned packs.
template <class T, class... Pointers>
bool are_packs(std::int64_t columns, const Pointers*... pointers) {
  return columns % pack_width<T> == 0 && aligned_for_packs(pointers...);
}

/// Calls f(width) with a compile-time width: that of a pack if rows at these addresses consist of
/// packs, else 1.
template <class T, class F, class... Pointers>
void with_width(std::int64_t columns, F&& f, const Pointers*... pointers) {
  if (are_packs<T>(columns, pointers...))
    f(std::integral_constant<int, pack_width<T>>{});
  else
    f(std::integral_constant<int, 1>{});
}

/// Calls f(T{}) with the element type of a floating-point dtype.
template <class F>
void with_type(DType dtype, F&& f) {
  if (dtype == DType::f16)
    f(__half{});
  else if (dtype == DType::bf16)
    f(__nv_bfloat16{});
  else
    f(float{});
}

} // namespace troupe::gpu
