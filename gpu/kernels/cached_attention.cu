#include "gpu/kernels/attention.hpp"
#include "gpu/kernels/detail/rows.cuh"

namespace troupe::gpu {

namespace {

/// Returns a row's cache position; -1: none.
__device__ std::int64_t place_of(const AttentionShape& s, const CachedAttention& a,
                                 std::int64_t row) {
  const std::int64_t first = *a.first, place = first + row % s.attributes.sequence;
  return first >= 0 && place < a.places ? place : -1;
}

/// Returns the index of the first cached element of a head of the row's sequence.
__device__ std::int64_t cached_head(const AttentionShape& s, const CachedAttention& a,
                                    std::int64_t row, std::int64_t kv_head) {
  const auto& attributes = s.attributes;
  return (row / attributes.sequence * attributes.kv_heads + kv_head) * a.places *
         attributes.head_dim;
}

/// Caches an element of k and the same element of v.
template <class T>
struct Remember {
  AttentionShape s;
  CachedAttention a;

  template <int Width>
  __device__ void run(std::size_t at) const {
    const std::int64_t dim = s.attributes.head_dim, columns = s.attributes.kv_heads * dim;
    const auto row = static_cast<std::int64_t>(at) / columns;
    const auto column = static_cast<std::int64_t>(at) % columns;
    const std::int64_t place = place_of(s, a, row);
    if (place < 0)
      return;
    const std::int64_t to = cached_head(s, a, row, column / dim) + place * dim + column % dim;
    a.keys[to] = to_float(static_cast<const T*>(a.k)[row * s.kv_distance + column]);
    a.values[to] = to_float(static_cast<const T*>(a.v)[row * s.kv_distance + column]);
  }
};

/// Running state of a warp: the largest score, and the sums of e^(score - most) and of values
/// weighted by it.
template <int Part>
struct Seen {
  float most = -1e30f, sum = 0, y[Part] = {};

  __device__ void add(float score, const float* value, int lane, int columns) {
    const float before = most;
    most = fmaxf(most, score);
    const float factor = expf(before - most), e = expf(score - most);
    sum = sum * factor + e;
#pragma unroll
    for (int i = 0; i < Part; ++i)
      y[i] = y[i] * factor + (lane + 32 * i < columns ? e * value[lane + 32 * i] : 0);
  }
};

/// A block handles a head of a row; each of its warps handles every eighth position, and a lane
/// every 32nd element.
template <int Dim, class T>
__global__ void __launch_bounds__(each_threads)
    cached_attention_kernel(AttentionShape s, CachedAttention a) {
  constexpr int part = Dim / 32;
  __shared__ float sums[row_warps][Dim], most[row_warps], totals[row_warps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int columns = static_cast<int>(s.attributes.head_dim);
  const std::int64_t row = blockIdx.x, head = blockIdx.y, place = place_of(s, a, row);
  const std::int64_t shared = s.attributes.heads / s.attributes.kv_heads;
  const std::int64_t cached = cached_head(s, a, row, head / shared);
  const auto* const query = static_cast<const T*>(a.q) + row * s.q_distance + head * columns;
  float q[part];
#pragma unroll
  for (int i = 0; i < part; ++i)
    q[i] = lane + 32 * i < columns ? to_float(query[lane + 32 * i]) : 0;
  const float scale = 1 / sqrtf(static_cast<float>(columns));
  Seen<part> seen;
  for (std::int64_t at = warp; at <= place; at += row_warps) {
    const float* const key = a.keys + cached + at * columns;
    float score = 0;
#pragma unroll
    for (int i = 0; i < part; ++i)
      score += lane + 32 * i < columns ? q[i] * key[lane + 32 * i] : 0;
    seen.add(scale * warp_sum(score), a.values + cached + at * columns, lane, columns);
  }
#pragma unroll
  for (int i = 0; i < part; ++i)
    sums[warp][lane + 32 * i] = seen.y[i];
  if (lane == 0) {
    most[warp] = seen.most;
    totals[warp] = seen.sum;
  }
  __syncthreads();
  auto* const y = static_cast<T*>(a.y) + (row * s.attributes.heads + head) * columns;
  for (int c = threadIdx.x; c < columns; c += each_threads) {
    float largest = most[0], total = 0, sum = 0;
    for (int i = 1; i < row_warps; ++i)
      largest = fmaxf(largest, most[i]);
    for (int i = 0; i < row_warps; ++i) {
      const float factor = expf(most[i] - largest);
      total += factor * totals[i];
      sum += factor * sums[i][c];
    }
    y[c] = from_float<T>(place < 0 ? NAN : sum / total);
  }
}

} // namespace

void launch_cached_attention(cudaStream_t stream, const AttentionShape& shape,
                             const CachedAttention& a) {
  const auto& attributes = shape.attributes;
  const auto rows = shape.rows();
  const dim3 blocks{static_cast<unsigned>(rows), static_cast<unsigned>(attributes.heads)};
  with_type(shape.dtype, [&](auto type) {
    using T = decltype(type);
    launch_each<1>(stream, Remember<T>{shape, a},
                   static_cast<std::size_t>(rows * attributes.kv_heads * attributes.head_dim),
                   false);
    if (attributes.head_dim <= 64)
      cached_attention_kernel<64, T><<<blocks, each_threads, 0, stream>>>(shape, a);
    else
      cached_attention_kernel<128, T><<<blocks, each_threads, 0, stream>>>(shape, a);
  });
}

} // namespace troupe::gpu
