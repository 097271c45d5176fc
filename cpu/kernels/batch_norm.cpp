// Batch normalization fused with the residual add and relu, forward and backward. Every tensor is
// read in order, four rows at a time, so that the columns' sums are loaded and stored once for
// four.
#include "cpu/kernels/detail/variant.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

template <class T>
void statistics_row(const T* __restrict x, std::size_t width, const float* __restrict shift,
                    float* __restrict sum, float* __restrict sum_squares) {
  for (std::size_t c = 0; c < width; ++c) {
    const float v = load(x, c) - shift[c];
    sum[c] += v;
    sum_squares[c] += v * v;
  }
}

template <class T>
void statistics(const T* x, Rows rows, const float* __restrict shift, float* __restrict sum,
                float* __restrict sum_squares) {
  const std::size_t w = rows.width;
  std::size_t at = 0;
  for (; at + 4 * w <= rows.elements; at += 4 * w) {
    const T* __restrict const x0 = x + at;
    for (std::size_t c = 0; c < w; ++c) {
      const float v0 = load(x0, c) - shift[c], v1 = load(x0, c + w) - shift[c];
      const float v2 = load(x0, c + 2 * w) - shift[c], v3 = load(x0, c + 3 * w) - shift[c];
      sum[c] += (v0 + v1) + (v2 + v3);
      sum_squares[c] += (v0 * v0 + v1 * v1) + (v2 * v2 + v3 * v3);
    }
  }
  for (; at < rows.elements; at += w)
    statistics_row(x + at, rows.elements - at < w ? rows.elements - at : w, shift, sum,
                   sum_squares);
}

template <class T, bool add, bool relu>
void normalize_rows(const T* x, const T* residual, T* y, Rows rows, const float* __restrict factor,
                    const float* __restrict offset) {
  for (std::size_t at = 0; at < rows.elements; at += rows.width) {
    const std::size_t width = rows.elements - at < rows.width ? rows.elements - at : rows.width;
    const T* const x0 = x + at;
    const T* const residual0 = add ? residual + at : nullptr;
    T* const y0 = y + at;
#pragma GCC ivdep
    for (std::size_t c = 0; c < width; ++c) {
      float value = load(x0, c) * factor[c] + offset[c];
      if constexpr (add)
        value += load(residual0, c);
      if constexpr (relu)
        value = value < 0.0f ? 0.0f : value; // a NaN stays
      store(y0, c, value);
    }
  }
}

template <class T>
void normalize(const T* x, const T* residual, T* y, Rows rows, const float* factor,
               const float* offset, bool relu) {
  if (residual && relu)
    normalize_rows<T, true, true>(x, residual, y, rows, factor, offset);
  else if (residual)
    normalize_rows<T, true, false>(x, residual, y, rows, factor, offset);
  else if (relu)
    normalize_rows<T, false, true>(x, residual, y, rows, factor, offset);
  else
    normalize_rows<T, false, false>(x, residual, y, rows, factor, offset);
}

enum class Mask { none, from_y, from_x };

template <class T, Mask mask>
float masked_load(const T* dy, const T* y, float x, const float* factor, const float* offset,
                  std::size_t i, std::size_t column) {
  const float value = load(dy, i);
  if constexpr (mask == Mask::from_y)
    return load(y, i) > 0.0f ? value : 0.0f;
  else if constexpr (mask == Mask::from_x)
    return x * factor[column] + offset[column] > 0.0f ? value : 0.0f;
  else
    return value;
}

template <class T, Mask mask, std::size_t lines>
void sums_of_rows(const BackwardSums<T>& views, std::size_t at, std::size_t w, std::size_t width) {
  constexpr bool write = mask == Mask::from_y;
  const T* const dy = views.dy + at;
  const T* const x = views.x + at;
  const T* const y = mask == Mask::from_y ? views.mask.y + at : nullptr;
  const float* __restrict const factor = views.mask.factor;
  const float* __restrict const offset = views.mask.offset;
  T* const out = write ? views.masked + at : nullptr;
  const float* __restrict const mean = views.mean;
  float* __restrict const sum = views.sum;
  float* __restrict const sum_x = views.sum_x;
#pragma GCC ivdep
  for (std::size_t c = 0; c < width; ++c) {
    float s = 0, sx = 0;
#pragma GCC unroll 4
    for (std::size_t line = 0; line < lines; ++line) {
      const std::size_t i = c + line * w;
      const float xi = load(x, i);
      const float v = masked_load<T, mask>(dy, y, xi, factor, offset, i, c);
      if constexpr (write)
        store(out, i, v);
      s += v;
      sx += v * (xi - mean[c]);
    }
    sum[c] += s;
    sum_x[c] += sx;
  }
}

template <class T, Mask mask>
void backward_sums_of(const BackwardSums<T>& views, Rows rows) {
  const std::size_t w = rows.width;
  std::size_t at = 0;
  for (; at + 4 * w <= rows.elements; at += 4 * w)
    sums_of_rows<T, mask, 4>(views, at, w, w);
  for (; at < rows.elements; at += w)
    sums_of_rows<T, mask, 1>(views, at, w, rows.elements - at < w ? rows.elements - at : w);
}

template <class T>
void backward_sums(const BackwardSums<T>& views, Rows rows) {
  if (views.mask.y)
    backward_sums_of<T, Mask::from_y>(views, rows);
  else if (views.mask.factor)
    backward_sums_of<T, Mask::from_x>(views, rows);
  else
    backward_sums_of<T, Mask::none>(views, rows);
}

template <class T, Mask mask>
void backward_input_of(const T* dy, const T* x, const ReluMask<T>& relu, T* dx, Rows rows,
                       const float* __restrict dy_factor, const float* __restrict x_factor,
                       const float* __restrict offset) {
  const float* __restrict const relu_factor = relu.factor;
  const float* __restrict const relu_offset = relu.offset;
  for (std::size_t at = 0; at < rows.elements; at += rows.width) {
    const std::size_t width = rows.elements - at < rows.width ? rows.elements - at : rows.width;
    const T* const dy0 = dy + at;
    const T* const x0 = x + at;
    T* const dx0 = dx + at;
#pragma GCC ivdep
    for (std::size_t c = 0; c < width; ++c) {
      const float xc = load(x0, c);
      const float v = masked_load<T, mask>(dy0, nullptr, xc, relu_factor, relu_offset, c, c);
      store(dx0, c, v * dy_factor[c] + (xc * x_factor[c] + offset[c]));
    }
  }
}

template <class T>
void backward_input(const T* dy, const T* x, const ReluMask<T>& mask, T* dx, Rows rows,
                    const float* dy_factor, const float* x_factor, const float* offset) {
  if (mask.factor)
    backward_input_of<T, Mask::from_x>(dy, x, mask, dx, rows, dy_factor, x_factor, offset);
  else
    backward_input_of<T, Mask::none>(dy, x, mask, dx, rows, dy_factor, x_factor, offset);
}

} // namespace

void set_batch_norm(Kernels& kernels) {
  kernels.for_types([]<class T>(TypedKernels<T>& typed) {
    typed.statistics = statistics<T>;
    typed.normalize = normalize<T>;
    typed.backward_sums = backward_sums<T>;
    typed.backward_input = backward_input<T>;
  });
}

} // namespace troupe::cpu::TROUPE_VARIANT
