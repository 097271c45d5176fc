/// Every stride-th pixel of NHWC images: the input of a 1x1 convolution with a stride.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace troupe::cpu {

struct PixelGrid {
  std::int64_t height, width, channels, stride;
  std::int64_t out_height() const { return (height + stride - 1) / stride; }
  std::int64_t out_width() const { return (width + stride - 1) / stride; }
};

/// Copies the pixels of one image to `to` (out_height, out_width, channels).
template <class T>
void gather_pixels(const PixelGrid& g, const T* from, T* to) {
  for (std::int64_t h = 0; h < g.out_height(); ++h)
    for (std::int64_t w = 0; w < g.out_width(); ++w, to += g.channels)
      std::copy_n(from + (h * g.width + w) * g.stride * g.channels, g.channels, to);
}

/// The inverse of gather_pixels(); pixels in between become zero.
template <class T>
void scatter_pixels(const PixelGrid& g, const T* from, T* to) {
  for (std::int64_t h = 0; h < g.height; ++h)
    for (std::int64_t w = 0; w < g.width; ++w, to += g.channels)
      if (h % g.stride == 0 && w % g.stride == 0) {
        std::copy_n(from, g.channels, to);
        from += g.channels;
      } else {
        std::memset(static_cast<void*>(to), 0, static_cast<std::size_t>(g.channels) * sizeof(T));
      }
}

} // namespace troupe::cpu
