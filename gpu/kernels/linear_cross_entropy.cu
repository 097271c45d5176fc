#include "gpu/kernels/detail/pack.cuh"
#include "gpu/kernels/detail/reduce.cuh"
#include "gpu/kernels/linear_cross_entropy.hpp"
#include "gpu/kernels/loss.hpp"

namespace troupe::gpu {

namespace {

/// A block handles a row. Two such blocks fill a multiprocessor, whose first-level cache then holds
/// both rows, so that a second read of a row rarely goes to memory.
constexpr int threads = 1024;
constexpr int single_threads = 1024;

/// Returns the block's largest value to every thread.
__device__ float block_max(float value) {
  __shared__ float warps[threads / 32];
  value = warp_max(value);
  if (threadIdx.x % 32 == 0)
    warps[threadIdx.x / 32] = value;
  __syncthreads();
#pragma unroll
  for (int warp = 0; warp < threads / 32; ++warp)
    value = fmaxf(value, warps[warp]);
  return value;
}

/// Sums over the classes of a row.
struct ClassSums {
  float log_sum_exp, logits;
};

/// Reads a row once: running sums are rescaled when a larger logit appears (Milakov & Gimelshein,
/// "Online normalizer calculation for softmax", 2018).
template <int Width, class T>
__device__ ClassSums sum_classes(const T* row, int classes) {
  float most = -INFINITY, exponentials = 0, sum = 0;
  for (int c = threadIdx.x * Width; c < classes; c += threads * Width) {
    float v[Width];
    load_floats(row + c, v);
    const float before = most;
#pragma unroll
    for (int i = 0; i < Width; ++i)
      most = fmaxf(most, v[i]);
    exponentials *= expf(before - most);
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      exponentials += expf(v[i] - most);
      sum += v[i];
    }
  }
  const float largest = block_max(most);
  const float total = block_sum<threads>(exponentials * expf(most - largest));
  return {largest + logf(total), block_sum<threads>(sum)};
}

/// Returns the logit of the row's label; NaN if the label is not a class.
template <class T>
__device__ float label_logit(const LogitRows& a, const T* row) {
  const std::int32_t label = a.labels[blockIdx.x];
  return label < 0 ? 0 : label < a.classes ? to_float(row[label]) : NAN;
}

__device__ float loss_of(const LogitRows& a, const ClassSums& sums, float label_logit) {
  return a.labels[blockIdx.x] < 0 ? 0
                                  : row_cross_entropy(sums.log_sum_exp, label_logit, sums.logits,
                                                      a.classes, a.smoothing);
}

template <class T>
__device__ T* row_of(const LogitRows& a) {
  return static_cast<T*>(a.logits) + static_cast<std::size_t>(blockIdx.x) * a.classes;
}

template <int Width, class T>
__global__ void __launch_bounds__(threads)
    row_losses_kernel(LogitRows a, float* log_sum_exp, float* losses) {
  const T* const row = row_of<T>(a);
  const auto sums = sum_classes<Width>(row, a.classes);
  if (threadIdx.x != 0)
    return;
  log_sum_exp[blockIdx.x] = sums.log_sum_exp;
  losses[blockIdx.x] = loss_of(a, sums, label_logit(a, row));
}

/// Overwrites a row with its gradient. Each thread writes the elements that it has read itself;
/// other threads read them only before sum_classes synchronizes the block.
template <int Width, class T>
__global__ void __launch_bounds__(threads)
    logit_gradients_kernel(LogitRows a, const float* log_sum_exp, const float* factor,
                           float* losses) {
  T* const row = row_of<T>(a);
  float total;
  if (log_sum_exp) {
    total = log_sum_exp[blockIdx.x];
  } else {
    const float logit = label_logit(a, row);
    const auto sums = sum_classes<Width>(row, a.classes);
    total = sums.log_sum_exp;
    if (threadIdx.x == 0)
      losses[blockIdx.x] = loss_of(a, sums, logit);
  }
  const float scale = *factor;
  const std::int32_t label = a.labels[blockIdx.x];
  for (int c = threadIdx.x * Width; c < a.classes; c += threads * Width) {
    float v[Width];
    load_floats(row + c, v);
#pragma unroll
    for (int i = 0; i < Width; ++i)
      v[i] =
          cross_entropy_gradient(expf(v[i] - total), label, c + i, a.classes, a.smoothing, scale);
    store_floats(row + c, v);
  }
}

/// Calls launch(width, type) for the rows' type and alignment.
template <class Launch>
void for_rows(const LogitRows& rows, Launch launch) {
  with_type(rows.dtype, [&](auto type) {
    with_width<decltype(type)>(
        rows.classes, [&](auto width) { launch(width, type); }, rows.logits);
  });
}

__global__ void __launch_bounds__(single_threads)
    mean_loss_kernel(LabelCount count, const float* losses, float* loss, float* counted) {
  double sum = 0;
  for (int row = threadIdx.x; row < count.rows; row += single_threads)
    sum += static_cast<double>(losses[row]);
  sum = block_sum<single_threads>(sum);
  const int labels = counted_labels<single_threads>(count.labels, count.rows);
  if (threadIdx.x != 0)
    return;
  *loss = labels > 0 ? static_cast<float>(sum / mean_rows(count.mean_rows, labels)) : 0;
  *counted = static_cast<float>(labels);
}

__global__ void __launch_bounds__(single_threads)
    gradient_factor_kernel(LabelCount count, const float* loss_scale, float* factor) {
  const int labels = counted_labels<single_threads>(count.labels, count.rows);
  if (threadIdx.x == 0)
    *factor = gradient_factor(count.mean_rows, labels, loss_scale);
}

} // namespace

void launch_row_losses(cudaStream_t stream, const LogitRows& rows, float* log_sum_exp,
                       float* losses) {
  for_rows(rows, [&](auto width, auto type) {
    row_losses_kernel<decltype(width)::value, decltype(type)>
        <<<static_cast<unsigned>(rows.rows), threads, 0, stream>>>(rows, log_sum_exp, losses);
  });
}

void launch_mean_loss(cudaStream_t stream, const LabelCount& count, const float* losses,
                      float* loss, float* counted) {
  mean_loss_kernel<<<1, single_threads, 0, stream>>>(count, losses, loss, counted);
}

void launch_gradient_factor(cudaStream_t stream, const LabelCount& count, const float* loss_scale,
                            float* factor) {
  gradient_factor_kernel<<<1, single_threads, 0, stream>>>(count, loss_scale, factor);
}

void launch_logit_gradients(cudaStream_t stream, const LogitRows& rows, const float* log_sum_exp,
                            const float* factor, float* losses) {
  for_rows(rows, [&](auto width, auto type) {
    logit_gradients_kernel<decltype(width)::value, decltype(type)>
        <<<static_cast<unsigned>(rows.rows), threads, 0, stream>>>(rows, log_sum_exp, factor,
                                                                   losses);
  });
}

} // namespace troupe::gpu
