#include "gpu/kernels/detail/pack.cuh"
#include "gpu/kernels/detail/reduce.cuh"
#include "gpu/kernels/linear_cross_entropy.hpp"
#include "gpu/kernels/loss.hpp"

namespace troupe::gpu {

namespace {

constexpr int threads = 256, single_threads = 1024;

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

/// A block handles a row and reads it once: running sums are rescaled when a larger logit appears
/// (Milakov & Gimelshein, "Online normalizer calculation for softmax", 2018).
template <int Width>
__global__ void __launch_bounds__(threads)
    row_losses_kernel(LogitRows a, float* log_sum_exp, float* losses) {
  const float* const row = a.logits + static_cast<std::size_t>(blockIdx.x) * a.classes;
  float most = -INFINITY, exponentials = 0, sum = 0;
  for (int c = threadIdx.x * Width; c < a.classes; c += threads * Width) {
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
  const float total = largest + logf(block_sum<threads>(exponentials * expf(most - largest)));
  sum = block_sum<threads>(sum);
  if (threadIdx.x != 0)
    return;
  const std::int32_t label = a.labels[blockIdx.x];
  log_sum_exp[blockIdx.x] = total;
  losses[blockIdx.x] = label < 0 ? 0
                       : label >= a.classes
                           ? NAN
                           : row_cross_entropy(total, row[label], sum, a.classes, a.smoothing);
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

template <int Width, class T>
__global__ void __launch_bounds__(threads)
    logit_gradients_kernel(LogitRows a, const float* log_sum_exp, const float* factor, T* dlogits) {
  const auto first = static_cast<std::size_t>(blockIdx.x) * a.classes;
  const float total = log_sum_exp[blockIdx.x], scale = *factor;
  const std::int32_t label = a.labels[blockIdx.x];
  for (int c = threadIdx.x * Width; c < a.classes; c += threads * Width) {
    float v[Width];
    load_floats(a.logits + first + c, v);
#pragma unroll
    for (int i = 0; i < Width; ++i)
      v[i] =
          cross_entropy_gradient(expf(v[i] - total), label, c + i, a.classes, a.smoothing, scale);
    store_floats(dlogits + first + c, v);
  }
}

} // namespace

void launch_row_losses(cudaStream_t stream, const LogitRows& rows, float* log_sum_exp,
                       float* losses) {
  const auto launch = [&](auto width) {
    row_losses_kernel<decltype(width)::value>
        <<<static_cast<unsigned>(rows.rows), threads, 0, stream>>>(rows, log_sum_exp, losses);
  };
  with_width<float>(rows.classes, launch, rows.logits);
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
                            const float* factor, DType dtype, void* dlogits) {
  const auto launch = [&](auto width) {
    with_type(dtype, [&](auto type) {
      using T = decltype(type);
      logit_gradients_kernel<decltype(width)::value, T>
          <<<static_cast<unsigned>(rows.rows), threads, 0, stream>>>(rows, log_sum_exp, factor,
                                                                     static_cast<T*>(dlogits));
    });
  };
  with_width<float>(rows.classes, launch, rows.logits);
}

} // namespace troupe::gpu
