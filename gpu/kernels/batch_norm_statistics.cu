#include "gpu/kernels/batch_norm.hpp"
#include "gpu/kernels/batch_norm_math.hpp"
#include "gpu/kernels/detail/columns.cuh"
#include "gpu/kernels/detail/update_gate.cuh"

namespace troupe::gpu {

namespace {

__device__ inline void store_narrow(DType type, void* to, int at, float value) {
  if (type == DType::f16)
    static_cast<__half*>(to)[at] = from_float<__half>(value);
  else
    static_cast<__nv_bfloat16*>(to)[at] = from_float<__nv_bfloat16>(value);
}

__device__ void write_equivalent(const BatchNormStatistics& to, int channel, float mean,
                                 float inv_std) {
  const float scale = to.scale[channel] * inv_std, shift = to.shift[channel] - mean * scale;
  if (to.equivalent_scale) {
    to.equivalent_scale[channel] = scale;
    to.equivalent_shift[channel] = shift;
  }
  if (to.narrow_scale) {
    store_narrow(to.narrow, to.narrow_scale, channel, scale);
    store_narrow(to.narrow, to.narrow_shift, channel, shift);
  }
  if (to.scale_copy) {
    to.scale_copy[channel] = to.scale[channel];
    to.shift_copy[channel] = to.shift[channel];
  }
}

__device__ void write_statistics(const BatchNormStatistics& to, int channel,
                                 const ChannelMoments& moments, double rows) {
  const float inv_std = inverse_deviation(moments.variance, to.eps);
  if (to.saved_mean)
    to.saved_mean[channel] = moments.mean;
  if (to.saved_inv_std)
    to.saved_inv_std[channel] = inv_std;
  if (to.running_mean)
    to.running_mean[channel] = running(to.running_mean[channel], moments.mean, to.momentum);
  if (to.running_variance)
    to.running_variance[channel] =
        running(to.running_variance[channel], unbiased(moments.variance, rows), to.momentum);
  if (to.scale)
    write_equivalent(to, channel, moments.mean, inv_std);
}

/// Sums of distances from an origin near the mean, and of their squares.
struct ChannelSums {
  double sum, squares, origin, rows;
};

/// Turns a channel's sums into statistics.
struct WriteStatistics {
  BatchNormStatistics to;
  __device__ void operator()(int channel, const ChannelSums& s) const {
    write_statistics(to, channel, moments(s.sum, s.squares, s.origin, s.rows), s.rows);
  }
};

/// Ranks have different origins, so the sums that they exchange are those of the values themselves.
struct WriteRankSums {
  double* to;
  int channels;
  __device__ void operator()(int channel, const ChannelSums& s) const {
    to[channel] = s.sum + s.rows * s.origin;
    to[channels + channel] = s.squares + s.origin * (2 * s.sum + s.rows * s.origin);
    if (channel == 0)
      to[2 * channels] = s.rows;
  }
};

/// The first row is the origin: its values are close enough to the means.
template <int Width, class T, class Write>
__global__ void __launch_bounds__(column_threads)
    statistics_kernel(const T* __restrict__ x, Columns columns, Write write,
                      ReductionScratch scratch) {
  const int channel = columns.first_channel(Width);
  float sum[Width] = {}, squares[Width] = {};
  if (channel < columns.channels) {
    float origin[Width];
    load_floats(x + channel, origin);
    const std::int64_t stride = columns.row_stride();
#pragma unroll 4
    for (std::int64_t row = columns.first_row(); row < columns.rows; row += stride) {
      float values[Width];
      load_floats(x + row * columns.channels + channel, values);
#pragma unroll
      for (int i = 0; i < Width; ++i) {
        const float distance = values[i] - origin[i];
        sum[i] += distance;
        squares[i] = fmaf(distance, distance, squares[i]);
      }
    }
  }
  sum_columns(columns, sum, squares, scratch, [&](int c, double total, double total_squares) {
    write(c, ChannelSums{total, total_squares, static_cast<double>(to_float(x[c])),
                         static_cast<double>(columns.rows)});
  });
}

template <class Write>
void launch_statistics(cudaStream_t stream, const BatchNormShape& shape, const void* x,
                       const Write& write, const ReductionScratch& scratch) {
  with_type(shape.dtype, [&](auto type) {
    using T = decltype(type);
    const auto* const values = static_cast<const T*>(x);
    const auto launch = [&](auto width) {
      constexpr int wide = width;
      const auto on = spread(shape.rows, shape.channels, wide, reduction_blocks);
      statistics_kernel<wide>
          <<<on.blocks, column_threads, 0, stream>>>(values, on.columns, write, scratch);
    };
    with_width<T>(shape.channels, launch, x);
  });
}

__global__ void finalize_kernel(double rows, int channels, const float* sum,
                                const float* sum_of_squares, BatchNormStatistics to) {
  const int channel = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (channel < channels)
    write_statistics(to, channel,
                     moments(static_cast<double>(sum[channel]),
                             static_cast<double>(sum_of_squares[channel]), 0, rows),
                     rows);
}

__global__ void finalize_ranks_kernel(int channels, const double* sums, BatchNormStatistics to,
                                      UpdateGate gate) {
  if (is_closed(gate))
    return;
  const int channel = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const double rows = sums[2 * channels];
  if (channel < channels)
    write_statistics(to, channel, moments(sums[channel], sums[channels + channel], 0, rows), rows);
}

constexpr int finalize_threads = 128;

unsigned finalize_blocks(std::int64_t channels) {
  return static_cast<unsigned>((channels + finalize_threads - 1) / finalize_threads);
}

} // namespace

void launch_batch_norm_statistics(cudaStream_t stream, const BatchNormShape& shape, const void* x,
                                  const BatchNormStatistics& statistics,
                                  const ReductionScratch& scratch) {
  launch_statistics(stream, shape, x, WriteStatistics{statistics}, scratch);
}

void launch_batch_norm_rank_sums(cudaStream_t stream, const BatchNormShape& shape, const void* x,
                                 double* sums, const ReductionScratch& scratch) {
  launch_statistics(stream, shape, x, WriteRankSums{sums, static_cast<int>(shape.channels)},
                    scratch);
}

void launch_batch_norm_finalize(cudaStream_t stream, std::int64_t channels, const double* sums,
                                const BatchNormStatistics& statistics, const UpdateGate& gate) {
  finalize_ranks_kernel<<<finalize_blocks(channels), finalize_threads, 0, stream>>>(
      static_cast<int>(channels), sums, statistics, gate);
}

void launch_batch_norm_finalize(cudaStream_t stream, std::int64_t rows, std::int64_t channels,
                                const float* sum, const float* sum_of_squares,
                                const BatchNormStatistics& statistics) {
  finalize_kernel<<<finalize_blocks(channels), finalize_threads, 0, stream>>>(
      static_cast<double>(rows), static_cast<int>(channels), sum, sum_of_squares, statistics);
}

} // namespace troupe::gpu
