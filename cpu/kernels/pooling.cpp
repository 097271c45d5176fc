// Max and average pooling over NHWC images: the innermost loop runs over channels. Backward
// gathers: every input pixel reads the windows that cover it, so that threads never write the same
// pixel.
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

template <class T>
void max_pool(const PoolShape& s, const T* x, T* y, std::int32_t* index, std::size_t begin,
              std::size_t end) {
  constexpr std::size_t block = 64;
  const std::size_t c = s.channels;
  for (std::size_t row = begin; row < end; ++row) {
    const std::size_t image = row / s.out_height, oh = row % s.out_height;
    const Span high = inside(oh, s.kernel_h, s, s.height);
    for (std::size_t ow = 0; ow < s.out_width; ++ow) {
      const Span wide = inside(ow, s.kernel_w, s, s.width);
      for (std::size_t from = 0; from < c; from += block) {
        const std::size_t n = c - from < block ? c - from : block;
        const std::size_t place = (row * s.out_width + ow) * c + from;
        // Both arrays have elements of 32 bits, so that one comparison selects in both.
        float largest[block];
        std::int32_t best[block];
        const auto first = static_cast<std::int32_t>(high.first * s.kernel_w + wide.first);
        for (std::size_t i = 0; i < n; ++i) {
          largest[i] = -__builtin_inff();
          best[i] = first;
        }
        for (std::size_t kh = high.first; kh < high.last; ++kh)
          for (std::size_t kw = wide.first; kw < wide.last; ++kw) {
            const std::size_t ih = oh * s.stride + kh - s.padding;
            const std::size_t iw = ow * s.stride + kw - s.padding;
            const T* __restrict const in = x + ((image * s.height + ih) * s.width + iw) * c + from;
            const auto position = static_cast<std::int32_t>(kh * s.kernel_w + kw);
            for (std::size_t i = 0; i < n; ++i) {
              const float value = load(in, i);
              const bool larger = value > largest[i] || value != value;
              largest[i] = larger ? value : largest[i];
              best[i] = larger ? position : best[i];
            }
          }
        for (std::size_t i = 0; i < n; ++i) {
          store(y, place + i, largest[i]);
          index[place + i] = best[i];
        }
      }
    }
  }
}

template <class T>
void max_pool_backward(const PoolShape& s, const T* dy, const std::int32_t* index, T* dx,
                       std::size_t begin, std::size_t end) {
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
            const std::size_t window = ((image * s.out_height + oh) * s.out_width + ow) * c + from;
            const auto position = static_cast<std::int32_t>(
                (ih + s.padding - oh * s.stride) * s.kernel_w + iw + s.padding - ow * s.stride);
            const T* __restrict const from_dy = dy + window;
            const std::int32_t* __restrict const best = index + window;
            for (std::size_t i = 0; i < n; ++i)
              sums[i] += best[i] == position ? load(from_dy, i) : 0.0f;
          }
        for (std::size_t i = 0; i < n; ++i)
          store(out, from + i, sums[i]);
      }
    }
  }
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
