/// Geometry of a pooling's windows, on the device.
#pragma once

#include "gpu/kernels/detail/pack.cuh"
#include "gpu/kernels/pooling.hpp"

namespace troupe::gpu {

struct PoolGeometry {
  int x_height, x_width, y_height, y_width, channels;
  int kernel_h, kernel_w, stride, padding;

  static PoolGeometry of(const PoolShape& s) {
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

/// Position of an element in an image of the given extent.
struct PixelPlace {
  int n, h, w, c;
};

__device__ inline PixelPlace place_in(unsigned pixel, int channel, int height, int width) {
  PixelPlace place;
  place.c = channel;
  place.w = static_cast<int>(pixel % width);
  pixel /= width;
  place.h = static_cast<int>(pixel % height);
  place.n = static_cast<int>(pixel / height);
  return place;
}

__device__ inline PixelPlace place_of(std::size_t element, int height, int width, int channels) {
  return place_in(static_cast<unsigned>(element / channels), static_cast<int>(element % channels),
                  height, width);
}

/// Loads in chunks of at most 16 bytes.
template <int Width, class Index>
__device__ inline Pack<Index, Width> load_indices(const Index* from) {
  constexpr int chunk = chunk_width<Index, Width>;
  Pack<Index, Width> all;
#pragma unroll
  for (int at = 0; at < Width; at += chunk) {
    const auto piece = *reinterpret_cast<const Pack<Index, chunk>*>(from + at);
#pragma unroll
    for (int i = 0; i < chunk; ++i)
      all.values[at + i] = piece.values[i];
  }
  return all;
}

/// Adds up the gradient of Width channels of a pixel of x: dy of the covering windows that chose
/// the pixel, in order.
template <int Width, class T, class Index>
__device__ inline void gather_gradient(const PoolGeometry& g, const T* dy, const Index* index,
                                       const PixelPlace& p, float (&sum)[Width]) {
  const auto down = g.windows_down(p.h), across = g.windows_across(p.w);
  for (int oh = down.begin; oh < down.end; ++oh)
    for (int ow = across.begin; ow < across.end; ++ow) {
      const auto out = g.at_y(p.n, oh, ow, p.c);
      const auto position = static_cast<Index>((p.h - oh * g.stride + g.padding) * g.kernel_w +
                                               p.w - ow * g.stride + g.padding);
      float gradient[Width];
      load_floats(dy + out, gradient);
      const auto chosen = load_indices<Width>(index + out);
#pragma unroll
      for (int i = 0; i < Width; ++i)
        sum[i] += chosen.values[i] == position ? gradient[i] : 0;
    }
}

} // namespace troupe::gpu
