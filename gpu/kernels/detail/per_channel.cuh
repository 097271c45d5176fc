/// Element-wise kernels over (rows, channels) with coefficients per channel.
#pragma once

#include "gpu/kernels/detail/columns.cuh"
#include "gpu/kernels/detail/wave.cuh"

#include <type_traits>

namespace troupe::gpu {

/// Up to three inputs of one element type; unused ones are null.
template <class T>
struct Inputs {
  const T *first = nullptr, *second = nullptr, *third = nullptr;
};

/// Channels that share a byte of a mask.
inline constexpr int mask_width = 8;

/// Returns a bit for each element: 1 if it is above 0. The first element is the lowest bit.
template <class T>
__device__ inline std::uint8_t mask_of(const Pack<T, mask_width>& pack) {
  unsigned bits = 0;
#pragma unroll
  for (int i = 0; i < mask_width; ++i)
    bits |= (to_float(pack.values[i]) > 0 ? 1u : 0u) << i;
  return static_cast<std::uint8_t>(bits);
}

/// output = map.apply(coefficients of the channel, one element of each input). `Map` has
/// Coefficients load(channel), float apply(Coefficients, float, float, float) and whether it
/// makes_mask. `mask`, of the output, may be null; it is written if Width is mask_width.
///
/// Two rows are in flight at once, read before they are written: the output may be an input. Rows
/// run from last to first, because the second-level cache still holds the rows that the preceding
/// sums read last.
template <int Width, int Count, class T, class Map>
__global__ void __launch_bounds__(column_threads, 3)
    per_channel_kernel(Inputs<T> in, T* output, std::uint8_t* mask, Columns columns, Map map) {
  const int channel = columns.first_channel(Width);
  if (channel >= columns.channels)
    return;
  typename Map::Coefficients coefficients[Width];
#pragma unroll
  for (int i = 0; i < Width; ++i)
    coefficients[i] = map.load(channel + i);

  using Values = Pack<T, Width>;
  const auto load = [&](const T* from, std::size_t at) {
    return *reinterpret_cast<const Values*>(from + at);
  };
  const auto work = [&](const Values& a, const Values& b, const Values& c, std::size_t at) {
    Values result;
#pragma unroll
    for (int i = 0; i < Width; ++i)
      result.values[i] = from_float<T>(map.apply(coefficients[i], to_float(a.values[i]),
                                                 Count > 1 ? to_float(b.values[i]) : 0.0f,
                                                 Count > 2 ? to_float(c.values[i]) : 0.0f));
    *reinterpret_cast<Values*>(output + at) = result;
    if constexpr (Map::makes_mask && Width == mask_width)
      if (mask)
        mask[at / mask_width] = mask_of(result);
  };
  const std::int64_t stride = columns.row_stride();
  for (std::int64_t i = columns.first_row(); i < columns.rows; i += 2 * stride) {
    const bool two = i + stride < columns.rows;
    const auto at = static_cast<std::size_t>(columns.rows - 1 - i) * columns.channels + channel;
    const auto next = two ? at - static_cast<std::size_t>(stride) * columns.channels : at;
    Values a[2], b[2] = {}, c[2] = {};
    a[0] = load(in.first, at);
    a[1] = load(in.first, next);
    if constexpr (Count > 1) {
      b[0] = load(in.second, at);
      b[1] = load(in.second, next);
    }
    if constexpr (Count > 2) {
      c[0] = load(in.third, at);
      c[1] = load(in.third, next);
    }
    work(a[0], b[0], c[0], at);
    if (two)
      work(a[1], b[1], c[1], next);
  }
}

/// Unused inputs are null; the mask may be null, and is if the map makes none. Without a mask,
/// alignment selects packs or single elements.
template <int Count, class T, class Map>
void launch_per_channel(cudaStream_t stream, const Inputs<T>& in, T* output, std::int64_t rows,
                        std::int64_t channels, const Map& map, std::uint8_t* mask = nullptr) {
  if (rows == 0)
    return;
  const auto launch = [&](auto width) {
    constexpr int wide = width;
    constexpr auto kernel = per_channel_kernel<wide, Count, T, Map>;
    const auto on =
        spread(rows, channels, wide, static_cast<int>(full_wave<kernel, column_threads>()));
    kernel<<<on.blocks, column_threads, 0, stream>>>(in, output, mask, on.columns, map);
  };
  if constexpr (Map::makes_mask)
    if (mask)
      return launch(std::integral_constant<int, mask_width>{});
  with_width<T>(channels, launch, in.first, in.second, in.third, output);
}

} // namespace troupe::gpu
