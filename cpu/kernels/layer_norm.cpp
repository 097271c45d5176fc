// Layer and RMS normalization, row by row. A row is read several times, all but the first time from
// the first-level cache.
#include "cpu/kernels/detail/variant.hpp"
#include "cpu/kernels/detail/vectors.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

/// Returns the value at i, or the `lanes` values from i on.
template <class V, class T>
V get(const T* values, std::size_t i) {
  if constexpr (std::is_same_v<V, float>)
    return load(values, i);
  else if constexpr (std::is_same_v<T, float>)
    return load_vector(values + i);
  else {
    float wide[lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane)
      wide[lane] = load(values + i, lane);
    return load_vector(wide);
  }
}

template <class V>
struct Sums {
  V first, second;

  void operator+=(const Sums& other) {
    first += other.first;
    second += other.second;
  }
};

/// Returns the sum over a row; term(V{}, c) returns the terms of column c, or of the `lanes`
/// columns from c on.
template <class Term>
Sums<float> sum_over(std::size_t width, Term term) {
  Sums<Vector> vectors{};
  Sums<float> sums{};
  std::size_t c = 0;
  for (; c + lanes <= width; c += lanes)
    vectors += term(Vector{}, c);
  for (; c < width; ++c)
    sums += term(float{}, c);
  for (std::size_t lane = 0; lane < lanes; ++lane)
    sums += Sums<float>{vectors.first[lane], vectors.second[lane]};
  return sums;
}

/// Computes the variance about a rounded mean, and corrects both by the mean's error.
template <class T>
Sums<float> mean_and_variance(const T* x, std::size_t width) {
  const auto count = static_cast<float>(width);
  const auto values = [=]<class V>(V, std::size_t c) { return Sums<V>{get<V>(x, c), V{}}; };
  const float mean = sum_over(width, values).first / count;
  const auto distances = [=]<class V>(V, std::size_t c) {
    const V distance = get<V>(x, c) - mean;
    return Sums<V>{distance, distance * distance};
  };
  const auto [distance, squares] = sum_over(width, distances);
  return {mean + distance / count, (squares - distance * distance / count) / count};
}

template <class T>
void layer_norm(const NormRows<T>& rows) {
  const std::size_t w = rows.width;
  const float* __restrict const scale = rows.scale;
  const float* __restrict const shift = rows.shift;
  for (std::size_t row = 0; row < rows.count; ++row) {
    const T* const x = rows.x + row * w;
    T* const y = rows.y + row * w;
    const auto [mean, variance] = mean_and_variance(x, w);
    const float inv_std = 1.0f / __builtin_sqrtf(variance + rows.eps);
    rows.mean[row] = mean;
    rows.inv_std[row] = inv_std;
#pragma GCC ivdep
    for (std::size_t c = 0; c < w; ++c)
      store(y, c, (load(x, c) - mean) * inv_std * scale[c] + shift[c]);
  }
}

/// Adds one row's contributions to dscale and dshift.
template <class T>
void add_to_columns(const T* dy, const T* x, float mean, float inv_std, std::size_t width,
                    float* __restrict dscale, float* __restrict dshift) {
  for (std::size_t c = 0; c < width; ++c) {
    const float gradient = load(dy, c);
    dscale[c] += gradient * ((load(x, c) - mean) * inv_std);
    dshift[c] += gradient;
  }
}

// With h = (x - mean) * inv_std and g = dy * scale: dx = inv_std * (g - mean(g) - h * mean(g * h)).
// Ba, Kiros & Hinton 2016.
template <class T>
void layer_norm_backward(const NormBackwardRows<T>& rows) {
  const std::size_t w = rows.width;
  const float* __restrict const scale = rows.scale;
  for (std::size_t row = 0; row < rows.count; ++row) {
    const T* const dy = rows.dy + row * w;
    const T* const x = rows.x + row * w;
    T* const dx = rows.dx + row * w;
    const float mean = rows.mean[row], inv_std = rows.inv_std[row];
    add_to_columns(dy, x, mean, inv_std, w, rows.dscale, rows.dshift);
    const auto [sum, sum_h] = sum_over(w, [=]<class V>(V, std::size_t c) {
      const V g = get<V>(dy, c) * get<V>(scale, c);
      return Sums<V>{g, g * ((get<V>(x, c) - mean) * inv_std)};
    });
    const float mean_g = sum / static_cast<float>(w), mean_gh = sum_h / static_cast<float>(w);
#pragma GCC ivdep
    for (std::size_t c = 0; c < w; ++c) {
      const float h = (load(x, c) - mean) * inv_std;
      store(dx, c, inv_std * (load(dy, c) * scale[c] - mean_g - h * mean_gh));
    }
  }
}

template <class T>
void rms_norm(const NormRows<T>& rows) {
  const std::size_t w = rows.width;
  const float* __restrict const scale = rows.scale;
  for (std::size_t row = 0; row < rows.count; ++row) {
    const T* const x = rows.x + row * w;
    T* const y = rows.y + row * w;
    const auto squares = sum_over(w, [=]<class V>(V, std::size_t c) {
      const V value = get<V>(x, c);
      return Sums<V>{value * value, V{}};
    });
    const float mean = squares.first / static_cast<float>(w);
    const float inv_rms = 1.0f / __builtin_sqrtf(mean + rows.eps);
    rows.inv_std[row] = inv_rms;
#pragma GCC ivdep
    for (std::size_t c = 0; c < w; ++c)
      store(y, c, load(x, c) * inv_rms * scale[c]);
  }
}

// With h = x * inv_rms and g = dy * scale: dx = inv_rms * (g - h * mean(g * h)).
template <class T>
void rms_norm_backward(const NormBackwardRows<T>& rows) {
  const std::size_t w = rows.width;
  const float* __restrict const scale = rows.scale;
  float* __restrict const dscale = rows.dscale;
  for (std::size_t row = 0; row < rows.count; ++row) {
    const T* const dy = rows.dy + row * w;
    const T* const x = rows.x + row * w;
    T* const dx = rows.dx + row * w;
    const float inv_rms = rows.inv_std[row];
    const auto sums = sum_over(w, [=]<class V>(V, std::size_t c) {
      return Sums<V>{get<V>(dy, c) * get<V>(scale, c) * (get<V>(x, c) * inv_rms), V{}};
    });
    const float mean = sums.first / static_cast<float>(w);
#pragma GCC ivdep
    for (std::size_t c = 0; c < w; ++c) {
      const float h = load(x, c) * inv_rms, gradient = load(dy, c);
      dscale[c] += gradient * h;
      store(dx, c, inv_rms * (gradient * scale[c] - h * mean));
    }
  }
}

} // namespace

void set_layer_norm(Kernels& kernels) {
  kernels.for_types([]<class T>(TypedKernels<T>& typed) {
    typed.layer_norm = layer_norm<T>;
    typed.layer_norm_backward = layer_norm_backward<T>;
    typed.rms_norm = rms_norm<T>;
    typed.rms_norm_backward = rms_norm_backward<T>;
  });
}

} // namespace troupe::cpu::TROUPE_VARIANT
