// Max and average pooling over NHWC images: the innermost loop runs over channels. Backward
// gathers: every input pixel reads the windows that cover it, so that threads never write the same
// pixel.
#include "cpu/kernels/detail/bf16_vectors.hpp"
#include "cpu/kernels/detail/variant.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

/// Positions [first, last) of a window that lie inside the image.
struct Span {
  std::size_t first, last;
};

Span inside(std::size_t out, std::size_t kernel, const PoolShape& s, std::size_t size) {
  const std::size_t start = out * s.stride;
  const std::size_t first = start < s.padding ? s.padding - start : 0;
  const std::size_t end = size + s.padding;
  return {first, start + kernel <= end ? kernel : end - start};
}

/// Windows [first, last) that cover one position of the image.
Span covering(std::size_t position, std::size_t kernel, const PoolShape& s, std::size_t windows) {
  const std::size_t p = position + s.padding;
  const std::size_t first = p < kernel ? 0 : (p - kernel) / s.stride + 1;
  const std::size_t last = p / s.stride + 1;
  return {first, last < windows ? last : windows};
}

/// The channels of a pixel that are pooled together, in registers.
template <std::size_t ways>
struct Channels {
  Vector values[ways];

  template <class T>
  static Channels load(const T* from) {
    Channels channels;
    for (std::size_t way = 0; way < ways; ++way)
      channels.values[way] = load_lanes(from + way * lanes);
    return channels;
  }
  template <class T>
  void store(T* to) const {
    for (std::size_t way = 0; way < ways; ++way)
      store_lanes(to + way * lanes, values[way]);
  }
};

/// The largest values of a window, and their positions in it.
template <std::size_t ways>
struct Largest {
  Channels<ways> largest;
  Words positions[ways];

  explicit Largest(std::size_t first) {
    for (std::size_t way = 0; way < ways; ++way) {
      largest.values[way] = -__builtin_inff() - Vector{};
      positions[way] = static_cast<std::uint32_t>(first) - Words{};
    }
  }
  /// The last NaN wins.
  void add(const Channels<ways>& in, std::size_t position) {
    const Words here = static_cast<std::uint32_t>(position) - Words{};
    for (std::size_t way = 0; way < ways; ++way) {
      const Vector value = in.values[way];
      const auto is_number = value <= __builtin_inff();
      const auto larger = (value > largest.values[way]) | ~is_number;
      largest.values[way] = larger ? value : largest.values[way];
      positions[way] = larger ? here : positions[way];
    }
  }
};

/// Calls body(first channel) with a number of registers, for all channels; the last ones may
/// overlap. Precondition: there are as many channels as a register has lanes.
template <class Body>
void for_channels(std::size_t channels, const Body& body) {
  constexpr std::size_t most = 4;
  std::size_t from = 0;
  for (; from + most * lanes <= channels; from += most * lanes)
    body.template operator()<most>(from);
  for (; from < channels; from += lanes)
    body.template operator()<1>(from + lanes <= channels ? from : channels - lanes);
}

/// The part of a window that lies inside an image.
struct Window {
  Span high, wide;
  std::size_t first_pixel; ///< of the whole window; wraps if that lies outside

  Window(const PoolShape& s, std::size_t row, std::size_t ow)
      : high{inside(row % s.out_height, s.kernel_h, s, s.height)}, wide{inside(ow, s.kernel_w, s,
                                                                               s.width)} {
    const std::size_t image = row / s.out_height, oh = row % s.out_height;
    first_pixel =
        (image * s.height + oh * s.stride - s.padding) * s.width + ow * s.stride - s.padding;
  }

  /// Calls body(pixel, position in the window).
  template <class Body>
  void for_each(const PoolShape& s, const Body& body) const {
    for (std::size_t kh = high.first; kh < high.last; ++kh)
      for (std::size_t kw = wide.first; kw < wide.last; ++kw)
        body(first_pixel + kh * s.width + kw, kh * s.kernel_w + kw);
  }
};

/// Pools fewer channels than a register has lanes.
template <class T>
void max_pool_few(const PoolShape& s, const T* x, T* y, std::int32_t* index, const Window& window) {
  for (std::size_t c = 0; c < s.channels; ++c) {
    float largest = -__builtin_inff();
    auto best = window.high.first * s.kernel_w + window.wide.first;
    window.for_each(s, [&](std::size_t pixel, std::size_t position) {
      const float value = load(x, pixel * s.channels + c);
      const bool larger = value > largest || value != value;
      largest = larger ? value : largest;
      best = larger ? position : best;
    });
    store(y, c, largest);
    index[c] = static_cast<std::int32_t>(best);
  }
}

template <class T>
void max_pool_window(const PoolShape& s, const T* x, T* y, std::int32_t* index,
                     const Window& window) {
  if (s.channels < lanes)
    return max_pool_few(s, x, y, index, window);
  for_channels(s.channels, [&]<std::size_t ways>(std::size_t c) {
    Largest<ways> found{window.high.first * s.kernel_w + window.wide.first};
    window.for_each(s, [&](std::size_t pixel, std::size_t position) {
      found.add(Channels<ways>::load(x + pixel * s.channels + c), position);
    });
    found.largest.store(y + c);
    for (std::size_t way = 0; way < ways; ++way)
      store_words(index + c + way * lanes, found.positions[way]);
  });
}

template <class T>
void max_pool(const PoolShape& s, const T* x, T* y, std::int32_t* index, std::size_t begin,
              std::size_t end) {
  for (std::size_t row = begin; row < end; ++row)
    for (std::size_t ow = 0; ow < s.out_width; ++ow) {
      const std::size_t place = (row * s.out_width + ow) * s.channels;
      max_pool_window(s, x, y + place, index + place, {s, row, ow});
    }
}

/// The windows that cover a pixel.
struct CoveringWindows {
  Span high, wide;
  std::size_t image, row, column;

  CoveringWindows(const PoolShape& s, std::size_t row_of_all, std::size_t iw)
      : high{covering(row_of_all % s.height, s.kernel_h, s, s.out_height)}, wide{covering(
                                                                                iw, s.kernel_w, s,
                                                                                s.out_width)},
        image{row_of_all / s.height}, row{row_of_all % s.height}, column{iw} {}

  /// Calls body(window, the pixel's position in it).
  template <class Body>
  void for_each(const PoolShape& s, const Body& body) const {
    for (std::size_t oh = high.first; oh < high.last; ++oh)
      for (std::size_t ow = wide.first; ow < wide.last; ++ow)
        body((image * s.out_height + oh) * s.out_width + ow,
             (row + s.padding - oh * s.stride) * s.kernel_w + column + s.padding - ow * s.stride);
  }
};

/// Gathers the gradient of a pixel with fewer channels than a register has lanes.
template <class T>
void gather_few(const PoolShape& s, const T* dy, const std::int32_t* index, T* dx,
                const CoveringWindows& windows) {
  for (std::size_t c = 0; c < s.channels; ++c) {
    float sum = 0;
    windows.for_each(s, [&](std::size_t window, std::size_t position) {
      const std::size_t at = window * s.channels + c;
      sum += index[at] == static_cast<std::int32_t>(position) ? load(dy, at) : 0.0f;
    });
    store(dx, c, sum);
  }
}

template <class T>
void gather_pixel(const PoolShape& s, const T* dy, const std::int32_t* index, T* dx,
                  const CoveringWindows& windows) {
  if (s.channels < lanes)
    return gather_few(s, dy, index, dx, windows);
  for_channels(s.channels, [&]<std::size_t ways>(std::size_t c) {
    Channels<ways> sums{};
    windows.for_each(s, [&](std::size_t window, std::size_t position) {
      const std::size_t at = window * s.channels + c;
      const auto gradients = Channels<ways>::load(dy + at);
      const Words here = static_cast<std::uint32_t>(position) - Words{};
      for (std::size_t way = 0; way < ways; ++way)
        sums.values[way] +=
            load_words(index + at + way * lanes) == here ? gradients.values[way] : Vector{};
    });
    sums.store(dx + c);
  });
}

template <class T>
void max_pool_backward(const PoolShape& s, const T* dy, const std::int32_t* index, T* dx,
                       std::size_t begin, std::size_t end) {
  for (std::size_t row = begin; row < end; ++row)
    for (std::size_t iw = 0; iw < s.width; ++iw)
      gather_pixel(s, dy, index, dx + (row * s.width + iw) * s.channels, {s, row, iw});
}

template <class T>
void avg_pool(const PoolShape& s, const T* x, T* y, std::size_t begin, std::size_t end) {
  constexpr std::size_t block = 64;
  const std::size_t c = s.channels;
  for (std::size_t row = begin; row < end; ++row) {
    const std::size_t image = row / s.out_height, oh = row % s.out_height;
    const Span high = inside(oh, s.kernel_h, s, s.height);
    for (std::size_t ow = 0; ow < s.out_width; ++ow) {
      const Span wide = inside(ow, s.kernel_w, s, s.width);
      const auto count = static_cast<float>((high.last - high.first) * (wide.last - wide.first));
      T* const out = y + (row * s.out_width + ow) * c;
      for (std::size_t from = 0; from < c; from += block) {
        const std::size_t n = c - from < block ? c - from : block;
        float sums[block] = {};
        for (std::size_t kh = high.first; kh < high.last; ++kh)
          for (std::size_t kw = wide.first; kw < wide.last; ++kw) {
            const std::size_t ih = oh * s.stride + kh - s.padding;
            const std::size_t iw = ow * s.stride + kw - s.padding;
            const T* __restrict const in = x + ((image * s.height + ih) * s.width + iw) * c + from;
            for (std::size_t i = 0; i < n; ++i)
              sums[i] += load(in, i);
          }
        for (std::size_t i = 0; i < n; ++i)
          store(out, from + i, sums[i] / count);
      }
    }
  }
}

template <class T>
void avg_pool_backward(const PoolShape& s, const T* dy, T* dx, std::size_t begin, std::size_t end) {
  constexpr std::size_t block = 64;
  const std::size_t c = s.channels;
  for (std::size_t row = begin; row < end; ++row) {
    const std::size_t image = row / s.height, ih = row % s.height;
    const Span high = covering(ih, s.kernel_h, s, s.out_height);
    for (std::size_t iw = 0; iw < s.width; ++iw) {
      const Span wide = covering(iw, s.kernel_w, s, s.out_width);
      T* const out = dx + (row * s.width + iw) * c;
      for (std::size_t from = 0; from < c; from += block) {
        const std::size_t n = c - from < block ? c - from : block;
        float sums[block] = {};
        for (std::size_t oh = high.first; oh < high.last; ++oh)
          for (std::size_t ow = wide.first; ow < wide.last; ++ow) {
            const Span h = inside(oh, s.kernel_h, s, s.height);
            const Span w = inside(ow, s.kernel_w, s, s.width);
            const float share = 1.0f / static_cast<float>((h.last - h.first) * (w.last - w.first));
            const T* __restrict const from_dy =
                dy + ((image * s.out_height + oh) * s.out_width + ow) * c + from;
            for (std::size_t i = 0; i < n; ++i)
              sums[i] += load(from_dy, i) * share;
          }
        for (std::size_t i = 0; i < n; ++i)
          store(out, from + i, sums[i]);
      }
    }
  }
}

} // namespace

void set_pooling(Kernels& kernels) {
  kernels.for_types([]<class T>(TypedKernels<T>& typed) {
    typed.max_pool = max_pool<T>;
    typed.max_pool_backward = max_pool_backward<T>;
    typed.avg_pool = avg_pool<T>;
    typed.avg_pool_backward = avg_pool_backward<T>;
  });
}

} // namespace troupe::cpu::TROUPE_VARIANT
