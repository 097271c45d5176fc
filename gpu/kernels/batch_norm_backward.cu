#include "batch_norm.hpp"
#include "batch_norm_math.hpp"
#include "per_channel.cuh"

namespace troupe::gpu {

namespace {

/// Where relu's mask comes from.
enum class Mask { none, from_y, from_x };

/// How y was rounded decides whether it was positive.
template <class T>
__device__ inline bool was_positive(float x, float mean, float gain, float shift) {
  return to_float(from_float<T>(normalized(x, mean, gain, shift))) > 0;
}

template <Mask From, int Width, class T>
__global__ void __launch_bounds__(column_threads)
    backward_sums_kernel(BatchNormBackward arguments, Columns columns, ReductionScratch scratch) {
  const int channel = columns.first_channel(Width);
  const auto* const dy = static_cast<const T*>(arguments.dy);
  const auto* const x = static_cast<const T*>(arguments.x);
  const auto* const y = static_cast<const T*>(arguments.y);
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
#pragma unroll
      for (int i = 0; i < Width; ++i) {
        const float value = to_float(values.values[i]);
        bool positive = true;
        if constexpr (From == Mask::from_y)
          positive = to_float(outputs.values[i]) > 0;
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
  });
}

/// Inputs: dy, x, y.
template <Mask From, class T>
struct BackwardMap {
  struct Coefficients {
    BackwardCoefficients k;
    float shift;
  };
  const float *scale, *shift, *mean, *inv_std, *dscale, *dshift;
  double rows;

  __device__ Coefficients load(int c) const {
    return {backward_coefficients(mean[c], inv_std[c], scale[c], dscale[c], dshift[c], rows),
            From == Mask::from_x ? shift[c] : 0.0f};
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
                 const ReductionScratch& scratch) {
  constexpr int width = pack_width<T>;
  if (shape.channels % width == 0 && aligned_for_packs(a.dy, a.x, a.y, a.dresidual)) {
    const auto launch = spread(shape.rows, shape.channels, width, reduction_blocks);
    backward_sums_kernel<From, width, T>
        <<<launch.blocks, column_threads, 0, stream>>>(a, launch.columns, scratch);
  } else {
    const auto launch = spread(shape.rows, shape.channels, 1, reduction_blocks);
    backward_sums_kernel<From, 1, T>
        <<<launch.blocks, column_threads, 0, stream>>>(a, launch.columns, scratch);
  }
}

template <Mask From, class T>
void launch_dx(cudaStream_t stream, const BatchNormShape& shape, const BatchNormBackward& a,
               const void* dy) {
  const BackwardMap<From, T> map{
      a.scale, a.shift, a.mean, a.inv_std, a.dscale, a.dshift, static_cast<double>(shape.rows)};
  constexpr int inputs = From == Mask::from_y ? 3 : 2;
  const Inputs<T> in{static_cast<const T*>(dy), static_cast<const T*>(a.x),
                     From == Mask::from_y ? static_cast<const T*>(a.y) : nullptr};
  launch_per_channel<inputs>(stream, in, static_cast<T*>(a.dx), shape.rows, shape.channels, map);
}

template <Mask From, class T>
void launch_backward(cudaStream_t stream, const BatchNormShape& shape, const BatchNormBackward& a,
                     const ReductionScratch& scratch) {
  launch_sums<From, T>(stream, shape, a, scratch);
  if (a.dresidual) // it is dy behind the mask: neither y nor the mask is needed again
    launch_dx<Mask::none, T>(stream, shape, a, a.dresidual);
  else
    launch_dx<From, T>(stream, shape, a, a.dy);
}

} // namespace

void launch_batch_norm_backward(cudaStream_t stream, const BatchNormShape& shape,
                                const BatchNormBackward& a, const ReductionScratch& scratch) {
  with_type(shape.dtype, [&](auto type) {
    using T = decltype(type);
    if (!a.relu)
      launch_backward<Mask::none, T>(stream, shape, a, scratch);
    else if (a.y)
      launch_backward<Mask::from_y, T>(stream, shape, a, scratch);
    else
      launch_backward<Mask::from_x, T>(stream, shape, a, scratch);
  });
}

} // namespace troupe::gpu
