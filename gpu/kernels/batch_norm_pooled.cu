#include "gpu/kernels/batch_norm_math.hpp"
#include "gpu/kernels/batch_norm_pooled.hpp"
#include "gpu/kernels/detail/columns.cuh"
#include "gpu/kernels/detail/pooling.cuh"
#include "gpu/kernels/detail/wave.cuh"

namespace troupe::gpu {

namespace {

/// Channels of a thread. Eight would take 120 registers, with which a multiprocessor holds two
/// blocks.
constexpr int most_channels = 4;

template <int Width>
struct Prologue {
  float factor[Width], offset[Width];

  __device__ Prologue(const PooledBatchNormBackward& a, int channel) {
    load_floats(a.factor + channel, factor);
    load_floats(a.offset + channel, offset);
  }
};

/// Computes the gradient of batch norm's result after relu's mask, for Width channels of a row of
/// x.
template <class T>
struct GradientSource {
  const T *dy, *x;
  const std::uint8_t* index;
  PoolGeometry g;

  template <int Width>
  __device__ void read(std::int64_t row, int channel, const Prologue<Width>& prologue,
                       float (&gradient)[Width], float (&values)[Width]) const {
    const auto at = static_cast<std::size_t>(row) * g.channels + channel;
    load_floats(x + at, values);
    float gathered[Width] = {};
    const auto place = place_in(static_cast<unsigned>(row), channel, g.x_height, g.x_width);
    gather_gradient(g, dy, index, place, gathered);
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      const float y = normalized_relu(values[i], prologue.factor[i], prologue.offset[i]);
      // Rounds both as if they had been stored.
      const bool positive = to_float(from_float<T>(y)) > 0;
      gradient[i] = positive ? to_float(from_float<T>(gathered[i])) : 0;
    }
  }
};

template <class T>
GradientSource<T> source_of(const PoolShape& shape, const PooledBatchNormBackward& a) {
  return {static_cast<const T*>(a.dy), static_cast<const T*>(a.x), a.index,
          PoolGeometry::of(shape)};
}

template <int Width, class T>
__global__ void __launch_bounds__(column_threads, 3)
    pooled_sums_kernel(GradientSource<T> source, PooledBatchNormBackward a, Columns columns,
                       ReductionScratch scratch) {
  const int channel = columns.first_channel(Width);
  float shift_sum[Width] = {}, scale_sum[Width] = {};
  if (channel < columns.channels) {
    const Prologue<Width> prologue{a, channel};
    float mean[Width];
    load_floats(a.mean + channel, mean);
    const std::int64_t stride = columns.row_stride();
#pragma unroll 2
    for (std::int64_t row = columns.first_row(); row < columns.rows; row += stride) {
      float gradient[Width], values[Width];
      source.read(row, channel, prologue, gradient, values);
#pragma unroll
      for (int i = 0; i < Width; ++i) {
        shift_sum[i] += gradient[i];
        scale_sum[i] = fmaf(gradient[i], values[i] - mean[i], scale_sum[i]);
      }
    }
  }
  sum_columns(columns, shift_sum, scale_sum, scratch, [&](int c, double shifts, double scales) {
    a.dshift[c] = static_cast<float>(shifts);
    a.dscale[c] = static_cast<float>(scales * static_cast<double>(a.inv_std[c]));
  });
}

template <int Width, class T>
__global__ void __launch_bounds__(column_threads, 3)
    pooled_input_kernel(GradientSource<T> source, PooledBatchNormBackward a, Columns columns) {
  const int channel = columns.first_channel(Width);
  if (channel >= columns.channels)
    return;
  const Prologue<Width> prologue{a, channel};
  const auto rows = static_cast<double>(columns.rows);
  BackwardCoefficients k[Width];
#pragma unroll
  for (int i = 0; i < Width; ++i) {
    const int c = channel + i;
    k[i] =
        backward_coefficients(a.mean[c], a.inv_std[c], a.scale[c], a.dscale[c], a.dshift[c], rows);
  }
  auto* const dx = static_cast<T*>(a.dx);
  // Runs from last row to first: the second-level cache still holds the rows that the sums read
  // last.
  for (std::int64_t i = columns.first_row(); i < columns.rows; i += columns.row_stride()) {
    const std::int64_t row = columns.rows - 1 - i;
    float gradient[Width], values[Width], result[Width];
    source.read(row, channel, prologue, gradient, values);
#pragma unroll
    for (int c = 0; c < Width; ++c)
      result[c] = backward_element(k[c], gradient[c], values[c]);
    store_floats(dx + static_cast<std::size_t>(row) * columns.channels + channel, result);
  }
}

template <int Width, class T>
void launch(cudaStream_t stream, const PoolShape& s, const PooledBatchNormBackward& a,
            const ReductionScratch& scratch) {
  const auto source = source_of<T>(s, a);
  const auto rows = static_cast<std::int64_t>(s.batch) * s.x_height * s.x_width;
  const auto sums = spread(rows, s.channels, Width, large_reduction_blocks);
  pooled_sums_kernel<Width>
      <<<sums.blocks, column_threads, 0, stream>>>(source, a, sums.columns, scratch);
  constexpr auto kernel = pooled_input_kernel<Width, T>;
  const auto elements =
      spread(rows, s.channels, Width, static_cast<int>(full_wave<kernel, column_threads>()));
  kernel<<<elements.blocks, column_threads, 0, stream>>>(source, a, elements.columns);
}

} // namespace

void launch_pooled_batch_norm_backward(cudaStream_t stream, const PoolShape& s,
                                       const PooledBatchNormBackward& a,
                                       const ReductionScratch& scratch) {
  with_type(s.dtype, [&](auto type) {
    using T = decltype(type);
    const auto with = [&](auto width) {
      launch<std::min(decltype(width)::value, most_channels), T>(stream, s, a, scratch);
    };
    with_width<T>(s.channels, with, a.dy, a.index, a.x, a.factor, a.offset, a.mean, a.dx);
  });
}

} // namespace troupe::gpu
