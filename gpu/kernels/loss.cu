#include "gpu/kernels/detail/reduce.cuh"
#include "gpu/kernels/loss.hpp"

#include <algorithm>
#include <climits>

namespace troupe::gpu {

namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr int single_threads = 1024;

/// Returns the number of rows that do not begin with a NaN to every thread of the block.
template <int Threads>
__device__ int counted_values(const float* values, int rows, int columns) {
  int count = 0;
  for (int row = threadIdx.x; row < rows; row += Threads)
    count += isnan(values[static_cast<std::size_t>(row) * columns]) ? 0 : 1;
  return block_sum<Threads>(count);
}

/// Returns the index of the first of a row's largest values to every lane of the warp.
__device__ int first_largest(const float* row, int classes, int lane) {
  float most = -INFINITY;
  int at = INT_MAX;
  for (int c = lane; c < classes; c += 32)
    if (at == INT_MAX || row[c] > most) {
      most = row[c];
      at = c;
    }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(all_lanes, most, offset);
    const int other_at = __shfl_xor_sync(all_lanes, at, offset);
    if (other > most || (other == most && other_at < at) || at == INT_MAX) {
      most = other;
      at = other_at;
    }
  }
  return at;
}

struct RowSums {
  float most, exponentials, logits;
};

__device__ RowSums sums_of_row(const float* row, int classes, int lane) {
  RowSums sums{-INFINITY, 0, 0};
  for (int c = lane; c < classes; c += 32)
    sums.most = fmaxf(sums.most, row[c]);
  sums.most = warp_max(sums.most);
  for (int c = lane; c < classes; c += 32) {
    sums.exponentials += expf(row[c] - sums.most);
    sums.logits += row[c];
  }
  sums.exponentials = warp_sum(sums.exponentials);
  sums.logits = warp_sum(sums.logits);
  return sums;
}

/// A warp handles a row. Returns the row's loss.
__device__ float cross_entropy_of_row(const CrossEntropy& a, int row, int lane, float scale) {
  const float* const logits = a.logits + static_cast<std::size_t>(row) * a.classes;
  const std::int32_t label = a.labels[row];
  const auto sums = sums_of_row(logits, a.classes, lane);
  for (int c = lane; c < a.classes; c += 32) {
    const float probability = expf(logits[c] - sums.most) / sums.exponentials;
    const auto at = static_cast<std::size_t>(row) * a.classes + c;
    if (a.probabilities)
      a.probabilities[at] = probability;
    if (a.dlogits)
      a.dlogits[at] = cross_entropy_gradient(probability, label, c, a.classes,
                                             a.attributes.label_smoothing, scale);
  }
  if (label < 0)
    return 0;
  if (label >= a.classes)
    return NAN;
  return row_cross_entropy(sums.most + logf(sums.exponentials), logits[label], sums.logits,
                           a.classes, a.attributes.label_smoothing);
}

__global__ void __launch_bounds__(threads)
    cross_entropy_kernel(CrossEntropy a, ReductionScratch scratch) {
  const int counted = counted_labels<threads>(a.labels, a.rows);
  const float scale = gradient_factor(a.attributes.rows, counted, a.loss_scale);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  double loss = 0;
  float correct = 0;
  for (int row = blockIdx.x * warps + warp; row < a.rows; row += gridDim.x * warps) {
    const float row_loss = cross_entropy_of_row(a, row, lane, scale);
    if (lane == 0)
      loss += static_cast<double>(row_loss);
    if (a.correct) {
      const int largest =
          first_largest(a.logits + static_cast<std::size_t>(row) * a.classes, a.classes, lane);
      if (lane == 0 && largest == a.labels[row])
        ++correct;
    }
  }
  loss = block_sum<threads>(loss);
  correct = block_sum<threads>(correct);
  auto* const losses = reinterpret_cast<double*>(scratch.partials);
  auto* const corrects = scratch.partials + 2 * ReductionScratch::blocks;
  if (threadIdx.x == 0) {
    losses[blockIdx.x] = loss;
    corrects[blockIdx.x] = correct;
  }
  if (!is_last_block(scratch.counters, gridDim.x))
    return;
  double total = 0;
  float total_correct = 0;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += threads) {
    total += __ldcg(losses + block);
    total_correct += __ldcg(corrects + block);
  }
  total = block_sum<threads>(total);
  total_correct = block_sum<threads>(total_correct);
  if (threadIdx.x == 0) {
    *a.loss = counted > 0 ? static_cast<float>(total / mean_rows(a.attributes.rows, counted)) : 0;
    if (a.correct)
      *a.correct = total_correct;
    if (a.counted)
      *a.counted = static_cast<float>(counted);
  }
}

__global__ void __launch_bounds__(threads)
    cross_entropy_backward_kernel(const float* probabilities, const std::int32_t* labels, int rows,
                                  int classes, LossAttributes attributes, const float* loss_scale,
                                  float* dlogits) {
  const int counted = counted_labels<threads>(labels, rows);
  const float scale = gradient_factor(attributes.rows, counted, loss_scale);
  const auto elements = static_cast<std::size_t>(rows) * classes;
  const auto stride = static_cast<std::size_t>(gridDim.x) * threads;
  for (std::size_t at = static_cast<std::size_t>(blockIdx.x) * threads + threadIdx.x; at < elements;
       at += stride)
    dlogits[at] = cross_entropy_gradient(probabilities[at], labels[at / classes],
                                         static_cast<int>(at % classes), classes,
                                         attributes.label_smoothing, scale);
}

__global__ void __launch_bounds__(single_threads)
    count_correct_kernel(const float* logits, const std::int32_t* labels, int rows, int classes,
                         float* correct) {
  const int lane = threadIdx.x % 32;
  int count = 0;
  for (int row = threadIdx.x / 32; row < rows; row += single_threads / 32) {
    const int largest =
        first_largest(logits + static_cast<std::size_t>(row) * classes, classes, lane);
    if (lane == 0 && largest == labels[row])
      ++count;
  }
  count = block_sum<single_threads>(count);
  if (threadIdx.x == 0)
    *correct = static_cast<float>(count);
}

__device__ float difference(const SquaredError& a, std::size_t at) {
  if (a.values)
    return value_difference(a.prediction[at], a.values[at], a.values[at - at % a.columns]);
  return one_hot_difference(a.prediction[at], a.labels[at / a.columns],
                            static_cast<int>(at % a.columns));
}

template <int Threads>
__device__ int counted_rows(const SquaredError& a) {
  return a.values ? counted_values<Threads>(a.values, a.rows, a.columns)
                  : counted_labels<Threads>(a.labels, a.rows);
}

__global__ void __launch_bounds__(single_threads)
    squared_error_kernel(SquaredError a, float* loss, float* rows) {
  const int counted = counted_rows<single_threads>(a);
  const auto elements = static_cast<std::size_t>(a.rows) * a.columns;
  double sum = 0;
  for (std::size_t at = threadIdx.x; at < elements; at += single_threads) {
    const auto d = static_cast<double>(difference(a, at));
    const bool no_class = !a.values && a.labels[at / a.columns] >= a.columns;
    sum += no_class ? static_cast<double>(NAN) : d * d;
  }
  sum = block_sum<single_threads>(sum);
  if (threadIdx.x != 0)
    return;
  *loss = counted > 0
              ? static_cast<float>(sum / (mean_rows(a.attributes.rows, counted) * a.columns))
              : 0;
  if (rows)
    *rows = static_cast<float>(counted);
}

__global__ void __launch_bounds__(threads)
    squared_error_backward_kernel(SquaredError a, const float* loss_scale, float* dprediction) {
  const float scale = gradient_factor(a.attributes.rows, counted_rows<threads>(a), loss_scale) *
                      (2 / static_cast<float>(a.columns));
  const auto elements = static_cast<std::size_t>(a.rows) * a.columns;
  const auto stride = static_cast<std::size_t>(gridDim.x) * threads;
  for (std::size_t at = static_cast<std::size_t>(blockIdx.x) * threads + threadIdx.x; at < elements;
       at += stride)
    dprediction[at] = difference(a, at) * scale;
}

unsigned blocks_for(std::size_t work, std::size_t work_of_block) {
  return static_cast<unsigned>(std::clamp<std::size_t>((work + work_of_block - 1) / work_of_block,
                                                       1, ReductionScratch::blocks));
}

} // namespace

void launch_softmax_cross_entropy(cudaStream_t stream, const CrossEntropy& a,
                                  const ReductionScratch& scratch) {
  cross_entropy_kernel<<<blocks_for(static_cast<std::size_t>(a.rows), warps), threads, 0, stream>>>(
      a, scratch);
}

void launch_softmax_cross_entropy_backward(cudaStream_t stream, const float* probabilities,
                                           const std::int32_t* labels, int rows, int classes,
                                           const LossAttributes& attributes,
                                           const float* loss_scale, float* dlogits) {
  const auto blocks = blocks_for(static_cast<std::size_t>(rows) * classes, threads * 4);
  cross_entropy_backward_kernel<<<blocks, threads, 0, stream>>>(
      probabilities, labels, rows, classes, attributes, loss_scale, dlogits);
}

void launch_count_correct(cudaStream_t stream, const float* logits, const std::int32_t* labels,
                          int rows, int classes, float* correct) {
  count_correct_kernel<<<1, single_threads, 0, stream>>>(logits, labels, rows, classes, correct);
}

void launch_mean_squared_error(cudaStream_t stream, const SquaredError& a, float* loss,
                               float* counted) {
  squared_error_kernel<<<1, single_threads, 0, stream>>>(a, loss, counted);
}

void launch_mean_squared_error_backward(cudaStream_t stream, const SquaredError& a,
                                        const float* loss_scale, float* dprediction) {
  const auto blocks = blocks_for(static_cast<std::size_t>(a.rows) * a.columns, threads * 4);
  squared_error_backward_kernel<<<blocks, threads, 0, stream>>>(a, loss_scale, dprediction);
}

} // namespace troupe::gpu
