#include "gpu/kernels/batch_norm_math.hpp"
#include "gpu/kernels/detail/each.cuh"
#include "gpu/kernels/detail/pooling.cuh"

namespace troupe::gpu {

namespace {

/// Max pooling of x, or of relu(x * factor + offset), rounded as if it had been stored.
template <class T, class Index, bool Normalizes>
struct MaxPool {
  const T* x;
  const float *factor, *offset;
  T* y;
  Index* index;
  PoolGeometry g;

  template <int Width>
  __device__ void run(std::size_t at) const {
    const PixelPlace p = place_of(at, g.y_height, g.y_width, g.channels);
    float most[Width];
    Pack<Index, Width> where;
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      most[i] = -INFINITY;
      where.values[i] = static_cast<Index>(-1);
    }
    float factors[Width] = {}, offsets[Width] = {};
    if constexpr (Normalizes) {
      load_floats(factor + p.c, factors);
      load_floats(offset + p.c, offsets);
    }
    const auto rows = g.rows(p.h), columns = g.columns(p.w);
    const int top = p.h * g.stride - g.padding, left = p.w * g.stride - g.padding;
    bool first = true;
    for (int h = rows.begin; h < rows.end; ++h)
      for (int w = columns.begin; w < columns.end; ++w) {
        float values[Width];
        load_floats(x + g.at_x(p.n, h, w, p.c), values);
        if constexpr (Normalizes)
          normalize(values, factors, offsets);
        const auto position = static_cast<Index>((h - top) * g.kernel_w + w - left);
#pragma unroll
        for (int i = 0; i < Width; ++i)
          if (first || values[i] > most[i] || isnan(values[i])) {
            most[i] = values[i];
            where.values[i] = position;
          }
        first = false;
      }
    store_floats(y + at, most);
    store_index(at, where);
  }

  template <int Width>
  __device__ static void normalize(float (&values)[Width], const float (&factors)[Width],
                                   const float (&offsets)[Width]) {
#pragma unroll
    for (int i = 0; i < Width; ++i)
      values[i] = to_float(from_float<T>(normalized_relu(values[i], factors[i], offsets[i])));
  }

  /// Stores the indices in chunks of at most 16 bytes.
  template <int Width>
  __device__ void store_index(std::size_t at, const Pack<Index, Width>& where) const {
    constexpr int chunk = chunk_width<Index, Width>;
#pragma unroll
    for (int i = 0; i < Width; i += chunk) {
      Pack<Index, chunk> piece;
#pragma unroll
      for (int k = 0; k < chunk; ++k)
        piece.values[k] = where.values[i + k];
      *reinterpret_cast<Pack<Index, chunk>*>(index + at + i) = piece;
    }
  }
};

template <class T, class Index>
struct MaxPoolBackward {
  const T* dy;
  const Index* index;
  T* dx;
  PoolGeometry g;

  template <int Width>
  __device__ void run(std::size_t at) const {
    const PixelPlace p = place_of(at, g.x_height, g.x_width, g.channels);
    float sum[Width] = {};
    gather_gradient(g, dy, index, p, sum);
    store_floats(dx + at, sum);
  }
};

template <class T>
struct AvgPool {
  const T* x;
  T* y;
  PoolGeometry g;

  template <int Width>
  __device__ void run(std::size_t at) const {
    const PixelPlace p = place_of(at, g.y_height, g.y_width, g.channels);
    const auto rows = g.rows(p.h), columns = g.columns(p.w);
    float sum[Width] = {};
    for (int h = rows.begin; h < rows.end; ++h)
#pragma unroll 4
      for (int w = columns.begin; w < columns.end; ++w) {
        float values[Width];
        load_floats(x + g.at_x(p.n, h, w, p.c), values);
#pragma unroll
        for (int i = 0; i < Width; ++i)
          sum[i] += values[i];
      }
    const auto count = static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
#pragma unroll
    for (int i = 0; i < Width; ++i)
      sum[i] /= count;
    store_floats(y + at, sum);
  }
};

template <class T>
struct AvgPoolBackward {
  const T* dy;
  T* dx;
  PoolGeometry g;

  template <int Width>
  __device__ void run(std::size_t at) const {
    const PixelPlace p = place_of(at, g.x_height, g.x_width, g.channels);
    const auto down = g.windows_down(p.h), across = g.windows_across(p.w);
    float sum[Width] = {};
    for (int oh = down.begin; oh < down.end; ++oh)
      for (int ow = across.begin; ow < across.end; ++ow) {
        const auto rows = g.rows(oh), columns = g.columns(ow);
        const auto count =
            static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
        float gradient[Width];
        load_floats(dy + g.at_y(p.n, oh, ow, p.c), gradient);
#pragma unroll
        for (int i = 0; i < Width; ++i)
          sum[i] += gradient[i] / count;
      }
    store_floats(dx + at, sum);
  }
};

std::size_t x_elements(const PoolShape& s) {
  return static_cast<std::size_t>(s.batch) * s.x_height * s.x_width * s.channels;
}

std::size_t y_elements(const PoolShape& s) {
  return static_cast<std::size_t>(s.batch) * s.y_height * s.y_width * s.channels;
}

/// Calls f(T{}, Index{}).
template <class F>
void with_types(DType dtype, DType index_type, F&& f) {
  with_type(dtype, [&](auto type) {
    if (index_type == DType::u8)
      f(type, std::uint8_t{});
    else
      f(type, std::int32_t{});
  });
}

} // namespace

void launch_max_pool(cudaStream_t stream, const PoolShape& s, const void* x, void* y, void* index,
                     DType index_type) {
  with_types(s.dtype, index_type, [&](auto type, auto index_value) {
    using T = decltype(type);
    using Index = decltype(index_value);
    launch_each<pack_width<T>>(
        stream,
        MaxPool<T, Index, false>{static_cast<const T*>(x), nullptr, nullptr, static_cast<T*>(y),
                                 static_cast<Index*>(index), PoolGeometry::of(s)},
        y_elements(s), are_packs<T>(s.channels, x, y, index));
  });
}

void launch_normalized_max_pool(cudaStream_t stream, const PoolShape& s, const void* x,
                                const float* factor, const float* offset, void* y,
                                std::uint8_t* index) {
  with_type(s.dtype, [&](auto type) {
    using T = decltype(type);
    launch_each<pack_width<T>>(
        stream,
        MaxPool<T, std::uint8_t, true>{static_cast<const T*>(x), factor, offset, static_cast<T*>(y),
                                       index, PoolGeometry::of(s)},
        y_elements(s), are_packs<T>(s.channels, x, factor, offset, y, index));
  });
}

void launch_max_pool_backward(cudaStream_t stream, const PoolShape& s, const void* dy,
                              const void* index, DType index_type, void* dx) {
  with_types(s.dtype, index_type, [&](auto type, auto index_value) {
    using T = decltype(type);
    using Index = decltype(index_value);
    launch_each<pack_width<T>>(stream,
                               MaxPoolBackward<T, Index>{static_cast<const T*>(dy),
                                                         static_cast<const Index*>(index),
                                                         static_cast<T*>(dx), PoolGeometry::of(s)},
                               x_elements(s), are_packs<T>(s.channels, dy, index, dx));
  });
}

void launch_avg_pool(cudaStream_t stream, const PoolShape& s, const void* x, void* y) {
  with_type(s.dtype, [&](auto type) {
    using T = decltype(type);
    launch_each<pack_width<T>>(
        stream, AvgPool<T>{static_cast<const T*>(x), static_cast<T*>(y), PoolGeometry::of(s)},
        y_elements(s), are_packs<T>(s.channels, x, y));
  });
}

void launch_avg_pool_backward(cudaStream_t stream, const PoolShape& s, const void* dy, void* dx) {
  with_type(s.dtype, [&](auto type) {
    using T = decltype(type);
    launch_each<pack_width<T>>(
        stream,
        AvgPoolBackward<T>{static_cast<const T*>(dy), static_cast<T*>(dx), PoolGeometry::of(s)},
        x_elements(s), are_packs<T>(s.channels, dy, dx));
  });
}

} // namespace troupe::gpu
