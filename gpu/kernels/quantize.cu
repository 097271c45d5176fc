#include "gpu/kernels/detail/each.cuh"
#include "gpu/kernels/detail/reduce.cuh"
#include "gpu/kernels/flat.hpp"

namespace troupe::gpu {

namespace {

/// A warp handles a block; a lane handles this many consecutive values.
constexpr int lane_values = quantized_block / 32;

template <QuantizedType Type>
constexpr int lane_bytes = static_cast<int>(quantized_code_bytes(Type)) / 32;

template <QuantizedType Type>
using LaneCodes = Pack<std::uint8_t, lane_bytes<Type>>;

/// Calls work(block, lane) for the warp's blocks.
template <class Work>
__device__ void for_blocks(std::size_t elements, Work work) {
  constexpr int warps = each_threads / 32;
  const std::size_t blocks = quantized_blocks(elements);
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * warps + threadIdx.x / 32;
  for (std::size_t block = first; block < blocks;
       block += static_cast<std::size_t>(gridDim.x) * warps)
    work(block, static_cast<int>(threadIdx.x % 32));
}

/// Loads elements from `at` on; elements past the end are 0. `packs`: 16 bytes at a time.
__device__ void load_lane(const float* source, std::size_t at, std::size_t elements, bool packs,
                          float (&values)[lane_values]) {
  if (packs && at + lane_values <= elements)
    return load_floats(source + at, values);
#pragma unroll
  for (int i = 0; i < lane_values; ++i)
    values[i] = at + i < elements ? source[at + i] : 0.0f;
}

__device__ void store_lane(float* destination, std::size_t at, std::size_t elements, bool packs,
                           const float (&values)[lane_values]) {
  if (packs && at + lane_values <= elements)
    return store_floats(destination + at, values);
#pragma unroll
  for (int i = 0; i < lane_values; ++i)
    if (at + i < elements)
      destination[at + i] = values[i];
}

template <QuantizedType Type>
__device__ LaneCodes<Type> join_lane(const int (&codes)[lane_values]) {
  LaneCodes<Type> joined;
#pragma unroll
  for (int i = 0; i < lane_bytes<Type>; ++i)
    if constexpr (Type == QuantizedType::int8)
      joined.values[i] = static_cast<std::uint8_t>(codes[i]);
    else
      joined.values[i] = join_codes(codes[2 * i], codes[2 * i + 1]);
  return joined;
}

template <QuantizedType Type>
__device__ void split_lane(const LaneCodes<Type>& joined, int (&codes)[lane_values]) {
#pragma unroll
  for (int i = 0; i < lane_bytes<Type>; ++i)
    if constexpr (Type == QuantizedType::int8)
      codes[i] = static_cast<std::int8_t>(joined.values[i]);
    else {
      codes[2 * i] = first_code(joined.values[i]);
      codes[2 * i + 1] = second_code(joined.values[i]);
    }
}

template <QuantizedType Type>
__global__ void __launch_bounds__(each_threads)
    quantize_kernel(const float* source, float* scales, LaneCodes<Type>* to, std::size_t elements,
                    bool packs) {
  for_blocks(elements, [&](std::size_t block, int lane) {
    float values[lane_values];
    load_lane(source, block * quantized_block + lane * lane_values, elements, packs, values);
    std::uint32_t largest = 0;
#pragma unroll
    for (int i = 0; i < lane_values; ++i) {
      const std::uint32_t bits = magnitude_bits(values[i]);
      largest = bits > largest ? bits : largest;
    }
    const float scale = quantized_scale(Type, warp_max(largest));
    if (lane == 0)
      scales[block] = scale;
    int codes[lane_values];
#pragma unroll
    for (int i = 0; i < lane_values; ++i)
      codes[i] = quantized_code(Type, values[i], scale);
    to[block * 32 + lane] = join_lane<Type>(codes);
  });
}

template <QuantizedType Type>
__global__ void __launch_bounds__(each_threads)
    dequantize_kernel(const float* scales, const LaneCodes<Type>* from, float* destination,
                      std::size_t elements, bool packs) {
  for_blocks(elements, [&](std::size_t block, int lane) {
    const float scale = scales[block];
    int codes[lane_values];
    split_lane<Type>(from[block * 32 + lane], codes);
    float values[lane_values];
#pragma unroll
    for (int i = 0; i < lane_values; ++i)
      values[i] = quantized_value(codes[i], scale);
    store_lane(destination, block * quantized_block + lane * lane_values, elements, packs, values);
  });
}

/// A warp handles a quantized block.
template <auto Kernel>
unsigned blocks_for(std::size_t elements) {
  return grid_for<Kernel>(quantized_blocks(elements) * 32);
}

/// Calls launch(constant) with the type as a constant, unless there are no elements.
template <class Launch>
void launch_for(QuantizedType type, std::size_t elements, Launch launch) {
  if (elements == 0)
    return;
  if (type == QuantizedType::int8)
    launch(std::integral_constant<QuantizedType, QuantizedType::int8>{});
  else
    launch(std::integral_constant<QuantizedType, QuantizedType::int4>{});
}

} // namespace

void launch_quantize(cudaStream_t stream, const float* source, void* destination,
                     QuantizedType type, std::size_t elements) {
  launch_for(type, elements, [&](auto constant) {
    constexpr auto kind = decltype(constant)::value;
    auto* const scales = static_cast<float*>(destination);
    auto* const codes = reinterpret_cast<LaneCodes<kind>*>(scales + quantized_blocks(elements));
    quantize_kernel<kind><<<blocks_for<quantize_kernel<kind>>(elements), each_threads, 0, stream>>>(
        source, scales, codes, elements, aligned_for_packs(source));
  });
}

void launch_dequantize(cudaStream_t stream, const void* source, QuantizedType type,
                       float* destination, std::size_t elements) {
  launch_for(type, elements, [&](auto constant) {
    constexpr auto kind = decltype(constant)::value;
    const auto* const scales = static_cast<const float*>(source);
    const auto* const codes =
        reinterpret_cast<const LaneCodes<kind>*>(scales + quantized_blocks(elements));
    constexpr auto kernel = dequantize_kernel<kind>;
    kernel<<<blocks_for<kernel>(elements), each_threads, 0, stream>>>(
        scales, codes, destination, elements, aligned_for_packs(destination));
  });
}

} // namespace troupe::gpu
