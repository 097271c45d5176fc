#include "gpu/kernels/batch_norm.hpp"
#include "gpu/kernels/batch_norm_math.hpp"
#include "gpu/kernels/detail/per_channel.cuh"

#include <type_traits>

namespace troupe::gpu {

namespace {

/// Source of relu's mask.
enum class Mask { none, from_y, from_bits, from_x };

/// y's rounding decides whether it was positive.
template <class T>
__device__ inline bool was_positive(float x, float mean, float gain, float shift) {
  return to_float(from_float<T>(normalized(x, mean, gain, shift))) > 0;
}

/// Rounds as if the sum had been stored.
template <int Width, class T>
__device__ inline void add_to(Pack<T, Width>& sum, const Pack<T, Width>& other) {
#pragma unroll
  for (int i = 0; i < Width; ++i)
    sum.values[i] = from_float<T>(to_float(sum.values[i]) + to_float(other.values[i]));
}

template <Mask From, int Width, class T>
__global__ void __launch_bounds__(column_threads)
    backward_sums_kernel(BatchNormBackward arguments, Columns columns, double* rank_sums,
                         ReductionScratch scratch) {
  const int channel = columns.first_channel(Width);
  const auto* const dy = static_cast<const T*>(arguments.dy);
  const auto* const x = static_cast<const T*>(arguments.x);
  const auto* const y = static_cast<const T*>(arguments.y);
  const auto* const other = static_cast<const T*>(arguments.other);
  auto* const dresidual = static_cast<T*>(arguments.dresidual);
  float shift_sum[Width] = {}, scale_sum[Width] = {};
  if (channel < columns.channels) {
    float mean[Width], gain[Width], shift[Width];
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      mean[i] = arguments.mean[channel + i];
      if constexpr (From == Mask::from_x) {
        gain[i] = arguments.scale[channel + i] * arguments.inv_std[channel + i];
        shift[i] = arguments.shift[channel + i];
      }
    }
    using Values = Pack<T, Width>;
    const std::int64_t stride = columns.row_stride();
#pragma unroll 2
    for (std::int64_t row = columns.first_row(); row < columns.rows; row += stride) {
      const auto at = static_cast<std::size_t>(row) * columns.channels + channel;
      auto d = *reinterpret_cast<const Values*>(dy + at);
      const auto values = *reinterpret_cast<const Values*>(x + at);
      Values outputs = {};
      if constexpr (From == Mask::from_y)
        outputs = *reinterpret_cast<const Values*>(y + at);
      unsigned bits = 0;
      if constexpr (From == Mask::from_bits)
        bits = arguments.mask[at / mask_width];
      if (other)
        add_to(d, *reinterpret_cast<const Values*>(other + at));
#pragma unroll
      for (int i = 0; i < Width; ++i) {
        const float value = to_float(values.values[i]);
        bool positive = true;
        if constexpr (From == Mask::from_y)
          positive = to_float(outputs.values[i]) > 0;
        if constexpr (From == Mask::from_bits)
          positive = bits >> i & 1;
        if constexpr (From == Mask::from_x)
          positive = was_positive<T>(value, mean[i], gain[i], shift[i]);
        if (!positive)
          d.values[i] = from_float<T>(0);
        const float gradient = to_float(d.values[i]);
        shift_sum[i] += gradient;
        scale_sum[i] = fmaf(gradient, value - mean[i], scale_sum[i]);
      }
      if (dresidual)
        *reinterpret_cast<Values*>(dresidual + at) = d;
    }
  }
  sum_columns(columns, shift_sum, scale_sum, scratch, [&](int c, double shifts, double scales) {
    arguments.dshift[c] = static_cast<float>(shifts);
    arguments.dscale[c] = static_cast<float>(scales * static_cast<double>(arguments.inv_std[c]));
    if (!rank_sums)
      return;
    rank_sums[c] = shifts;
    rank_sums[columns.channels + c] = scales;
    if (c == 0)
      rank_sums[2 * columns.channels] = static_cast<double>(columns.rows);
  });
}

/// Inputs: dy, x, y.
template <Mask From, class T>
struct BackwardMap {
  static constexpr bool makes_mask = false;
  struct Coefficients {
    BackwardCoefficients k;
    float shift;
  };
  const float *scale, *shift, *mean, *inv_std, *dscale, *dshift;
  const double* rank_sums; ///< may be null; replaces dscale, dshift and rows
  double rows;
  int channels;

  __device__ Coefficients load(int c) const {
    return {rank_sums
                ? of_all_ranks(c)
                : backward_coefficients(mean[c], inv_std[c], scale[c], dscale[c], dshift[c], rows),
            From == Mask::from_x ? shift[c] : 0.0f};
  }
  __device__ BackwardCoefficients of_all_ranks(int c) const {
    const double scales = rank_sums[channels + c] * static_cast<double>(inv_std[c]);
    return backward_coefficients(mean[c], inv_std[c], scale[c], static_cast<float>(scales),
                                 static_cast<float>(rank_sums[c]), rank_sums[2 * channels]);
  }
  __device__ float apply(const Coefficients& c, float dy, float x, float y) const {
    bool positive = true;
    if constexpr (From == Mask::from_y)
      positive = y > 0;
    if constexpr (From == Mask::from_x)
      positive = was_positive<T>(x, c.k.mean, c.k.gain, c.shift);
    return backward_element(c.k, positive ? dy : 0, x);
  }
};

template <Mask From, class T>
void launch_sums(cudaStream_t stream, const BatchNormShape& shape, const BatchNormBackward& a,
                 double* rank_sums, const ReductionScratch& scratch) {
  const auto launch = [&](auto width) {
    constexpr int wide = width;
    constexpr bool has_mask_in_registers = From == Mask::from_x || From == Mask::from_y;
    const auto on = spread(shape.rows, shape.channels, wide,
                           has_mask_in_registers ? large_reduction_blocks : reduction_blocks);
    backward_sums_kernel<From, wide, T>
        <<<on.blocks, column_threads, 0, stream>>>(a, on.columns, rank_sums, scratch);
  };
  if constexpr (From == Mask::from_bits)
    launch(std::integral_constant<int, mask_width>{});
  else
    with_width<T>(shape.channels, launch, a.dy, a.x, a.y, a.other, a.dresidual);
}

template <Mask From, class T>
void launch_dx(cudaStream_t stream, const BatchNormShape& shape, const BatchNormBackward& a,
               const void* dy, const double* rank_sums) {
  const BackwardMap<From, T> map{a.scale,
                                 a.shift,
                                 a.mean,
                                 a.inv_std,
                                 a.dscale,
                                 a.dshift,
                                 rank_sums,
                                 static_cast<double>(shape.rows),
                                 static_cast<int>(shape.channels)};
  constexpr int inputs = From == Mask::from_y ? 3 : 2;
  const Inputs<T> in{static_cast<const T*>(dy), static_cast<const T*>(a.x),
                     From == Mask::from_y ? static_cast<const T*>(a.y) : nullptr};
  launch_per_channel<inputs>(stream, in, static_cast<T*>(a.dx), shape.rows, shape.channels, map);
}

/// Calls fn(mask, element) with the mask's source as a constant and a value of the type.
template <class Fn>
void with_mask_and_type(const BatchNormShape& shape, const BatchNormBackward& a, Fn fn) {
  with_type(shape.dtype, [&](auto type) {
    if (!a.relu)
      fn(std::integral_constant<Mask, Mask::none>{}, type);
    else if (a.mask)
      fn(std::integral_constant<Mask, Mask::from_bits>{}, type);
    else if (a.y)
      fn(std::integral_constant<Mask, Mask::from_y>{}, type);
    else
      fn(std::integral_constant<Mask, Mask::from_x>{}, type);
  });
}

} // namespace

void launch_batch_norm_backward_sums(cudaStream_t stream, const BatchNormShape& shape,
                                     const BatchNormBackward& a, double* rank_sums,
                                     const ReductionScratch& scratch) {
  with_mask_and_type(shape, a, [&](auto mask, auto type) {
    launch_sums<decltype(mask)::value, decltype(type)>(stream, shape, a, rank_sums, scratch);
  });
}

void launch_batch_norm_backward_input(cudaStream_t stream, const BatchNormShape& shape,
                                      const BatchNormBackward& a, const double* rank_sums) {
  with_mask_and_type(shape, a, [&](auto mask, auto type) {
    using T = decltype(type);
    constexpr auto from = decltype(mask)::value;
    if (a.dresidual) // dresidual is dy after the mask, so neither y nor the mask is needed
      launch_dx<Mask::none, T>(stream, shape, a, a.dresidual, rank_sums);
    else if constexpr (from != Mask::from_bits)
      launch_dx<from, T>(stream, shape, a, a.dy, rank_sums);
  });
}

void launch_batch_norm_backward(cudaStream_t stream, const BatchNormShape& shape,
                                const BatchNormBackward& a, const ReductionScratch& scratch) {
  launch_batch_norm_backward_sums(stream, shape, a, nullptr, scratch);
  launch_batch_norm_backward_input(stream, shape, a, nullptr);
}

} // namespace troupe::gpu
