#include "detail/each.cuh"
#include "pooling.hpp"
#include "pooling_math.hpp"

namespace troupe::gpu {

namespace {

struct Geometry {
  int x_height, x_width, y_height, y_width, channels;
  int kernel_h, kernel_w, stride, padding;

  __device__ IndexRange rows(int oh) const {
    return window_pixels(oh, kernel_h, stride, padding, x_height);
  }
  __device__ IndexRange columns(int ow) const {
    return window_pixels(ow, kernel_w, stride, padding, x_width);
  }
  __device__ IndexRange windows_down(int h) const {
    return covering_windows(h, kernel_h, stride, padding, y_height);
  }
  __device__ IndexRange windows_across(int w) const {
    return covering_windows(w, kernel_w, stride, padding, y_width);
  }
  __device__ std::size_t at_x(int n, int h, int w, int c) const {
    return ((static_cast<std::size_t>(n) * x_height + h) * x_width + w) * channels + c;
  }
  __device__ std::size_t at_y(int n, int h, int w, int c) const {
    return ((static_cast<std::size_t>(n) * y_height + h) * y_width + w) * channels + c;
  }
};

/// Where an element lies in an image of the given extent.
struct Place {
  int n, h, w, c;
};

__device__ inline Place place_of(std::size_t element, int height, int width, int channels) {
  Place place;
  place.c = static_cast<int>(element % channels);
  auto pixel = static_cast<unsigned>(element / channels);
  place.w = static_cast<int>(pixel % width);
  pixel /= width;
  place.h = static_cast<int>(pixel % height);
  place.n = static_cast<int>(pixel / height);
  return place;
}

template <class T, class Index>
struct MaxPool {
  const T* x;
  T* y;
  Index* index;
  Geometry g;

  template <int Width>
  __device__ void run(std::size_t at) const {
    const Place p = place_of(at, g.y_height, g.y_width, g.channels);
    float most[Width];
    Pack<Index, Width> where;
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      most[i] = -INFINITY;
      where.values[i] = static_cast<Index>(-1);
    }
    const auto rows = g.rows(p.h), columns = g.columns(p.w);
    const int top = p.h * g.stride - g.padding, left = p.w * g.stride - g.padding;
    bool first = true;
    for (int h = rows.begin; h < rows.end; ++h)
      for (int w = columns.begin; w < columns.end; ++w) {
        float values[Width];
        load_floats(x + g.at_x(p.n, h, w, p.c), values);
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

  /// Stores the indices in pieces of 16 bytes at most.
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
  Geometry g;

  template <int Width>
  __device__ void run(std::size_t at) const {
    const Place p = place_of(at, g.x_height, g.x_width, g.channels);
    float sum[Width] = {};
    const auto down = g.windows_down(p.h), across = g.windows_across(p.w);
    for (int oh = down.begin; oh < down.end; ++oh)
      for (int ow = across.begin; ow < across.end; ++ow) {
        const auto out = g.at_y(p.n, oh, ow, p.c);
        const auto position = static_cast<Index>((p.h - oh * g.stride + g.padding) * g.kernel_w +
                                                 p.w - ow * g.stride + g.padding);
        float gradient[Width];
        load_floats(dy + out, gradient);
#pragma unroll
        for (int i = 0; i < Width; ++i)
          sum[i] += index[out + i] == position ? gradient[i] : 0;
      }
    store_floats(dx + at, sum);
  }
};

template <class T>
struct AvgPool {
  const T* x;
  T* y;
  Geometry g;

  template <int Width>
  __device__ void run(std::size_t at) const {
    const Place p = place_of(at, g.y_height, g.y_width, g.channels);
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
  Geometry g;

  template <int Width>
  __device__ void run(std::size_t at) const {
    const Place p = place_of(at, g.x_height, g.x_width, g.channels);
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

Geometry geometry(const PoolShape& s) {
  return {s.x_height,
          s.x_width,
          s.y_height,
          s.y_width,
          s.channels,
          static_cast<int>(s.attributes.kernel_h),
          static_cast<int>(s.attributes.kernel_w),
          static_cast<int>(s.attributes.stride),
          static_cast<int>(s.attributes.padding)};
}

std::size_t x_elements(const PoolShape& s) {
  return static_cast<std::size_t>(s.batch) * s.x_height * s.x_width * s.channels;
}

std::size_t y_elements(const PoolShape& s) {
  return static_cast<std::size_t>(s.batch) * s.y_height * s.y_width * s.channels;
}

/// A pack must not reach into the next pixel.
template <class T, class... Pointers>
bool packs(const PoolShape& s, const Pointers*... pointers) {
  return s.channels % pack_width<T> == 0 && aligned_for_packs(pointers...);
}

/// f(T{}, Index{})
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
    launch_each<pack_width<T>>(stream,
                               MaxPool<T, Index>{static_cast<const T*>(x), static_cast<T*>(y),
                                                 static_cast<Index*>(index), geometry(s)},
                               y_elements(s), packs<T>(s, x, y, index));
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
                                                         static_cast<T*>(dx), geometry(s)},
                               x_elements(s), packs<T>(s, dy, index, dx));
  });
}

void launch_avg_pool(cudaStream_t stream, const PoolShape& s, const void* x, void* y) {
  with_type(s.dtype, [&](auto type) {
    using T = decltype(type);
    launch_each<pack_width<T>>(
        stream, AvgPool<T>{static_cast<const T*>(x), static_cast<T*>(y), geometry(s)},
        y_elements(s), packs<T>(s, x, y));
  });
}

void launch_avg_pool_backward(cudaStream_t stream, const PoolShape& s, const void* dy, void* dx) {
  with_type(s.dtype, [&](auto type) {
    using T = decltype(type);
    launch_each<pack_width<T>>(
        stream, AvgPoolBackward<T>{static_cast<const T*>(dy), static_cast<T*>(dx), geometry(s)},
        x_elements(s), packs<T>(s, dy, dx));
  });
}

} // namespace troupe::gpu
