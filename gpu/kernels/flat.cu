#include "gpu/kernels/detail/each.cuh"
#include "gpu/kernels/detail/reduce.cuh"
#include "gpu/kernels/detail/update_gate.cuh"
#include "gpu/kernels/flat.hpp"

namespace troupe::gpu {

namespace {

template <class From_, class To_>
struct Cast {
  using From = From_;
  using To = To_;

  const From* from;
  To* to;

  template <int Width>
  __device__ void run(std::size_t at) const {
    float values[Width];
    load_floats(from + at, values);
    store_floats(to + at, values);
  }
};

/// to += from.
template <class From_>
struct Accumulate {
  using From = From_;
  using To = float;

  const From* from;
  float* to;

  template <int Width>
  __device__ void run(std::size_t at) const {
    float values[Width], sums[Width];
    load_floats(from + at, values);
    load_floats(to + at, sums);
#pragma unroll
    for (int i = 0; i < Width; ++i)
      sums[i] += values[i];
    store_floats(to + at, sums);
  }
};

/// Ranges that fit into one kernel's arguments.
constexpr int most_ranges = 64;

struct CastRanges {
  CastRange all[most_ranges];
};

/// Each range has a row of blocks (blockIdx.y).
template <int Width, class Body>
__global__ void __launch_bounds__(each_threads) ranges_kernel(CastRanges ranges) {
  const auto& range = ranges.all[blockIdx.y];
  const Body body{static_cast<const typename Body::From*>(range.from),
                  static_cast<typename Body::To*>(range.to)};
  run_each<Width>(body, range.elements);
}

/// Launches Body for at most `most_ranges` ranges.
template <class Body>
void launch_few_ranges(cudaStream_t stream, std::span<const CastRange> ranges) {
  CastRanges arguments{};
  std::size_t largest = 0;
  bool aligned = true;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    arguments.all[i] = ranges[i];
    largest = std::max(largest, ranges[i].elements);
    aligned = aligned && aligned_for_packs(ranges[i].from, ranges[i].to);
  }
  const auto launch = [&](auto width) {
    constexpr int wide = width;
    constexpr auto kernel = ranges_kernel<wide, Body>;
    const dim3 blocks(grid_for<kernel>((largest + wide - 1) / wide),
                      static_cast<unsigned>(ranges.size()));
    kernel<<<blocks, each_threads, 0, stream>>>(arguments);
  };
  if (aligned)
    launch(std::integral_constant<int, 8>{});
  else
    launch(std::integral_constant<int, 1>{});
}

struct Add {
  __device__ float operator()(float a, float b) const { return a + b; }
};

struct AddProduct {
  __device__ float operator()(float sum, float a, float b) const { return sum + a * b; }
};

struct Scale {
  float factor;
  __device__ float operator()(float value) const { return value * factor; }
};

struct Round {
  DType type;

  __device__ float operator()(float value) const {
    float rounded[1] = {value};
    round_floats(type, rounded);
    return rounded[0];
  }
};

/// Every thread that finds one writes the same 1, so the order does not matter.
template <int Width>
__device__ void note_inf(const float (&values)[Width], float* found_inf) {
  bool finite = true;
#pragma unroll
  for (int i = 0; i < Width; ++i)
    finite = finite && isfinite(values[i]);
  if (!finite)
    *found_inf = 1;
}

struct CheckFinite {
  const float* values;
  float* found_inf;

  template <int Width>
  __device__ void run(std::size_t at) const {
    float v[Width];
    load_floats(values + at, v);
    note_inf(v, found_inf);
  }
};

/// Packs of four. The partition depends only on the number of elements.
template <int Width>
__global__ void __launch_bounds__(each_threads)
    add_squared_norm_kernel(OptimizerArguments arguments, const float* gradients,
                            std::size_t elements, double* result, const LossScaleState* scaler,
                            ReductionScratch scratch) {
  if (scaler)
    arguments = unscaled(arguments, *scaler);
  const auto square = [&arguments](float gradient) {
    const auto g = static_cast<double>(clipped_by_value(arguments, gradient));
    return g * g;
  };
  const std::size_t packs = elements / Width;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * each_threads;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * each_threads + threadIdx.x;
  double sum = 0;
#pragma unroll 4
  for (std::size_t i = first; i < packs; i += stride) {
    float v[Width];
    load_floats(gradients + i * Width, v);
#pragma unroll
    for (int k = 0; k < Width; ++k)
      sum += square(v[k]);
  }
  for (std::size_t i = packs * Width + first; i < elements; i += stride)
    sum += square(gradients[i]);
  sum = block_sum<each_threads>(sum);

  auto* const partials = reinterpret_cast<double*>(scratch.partials);
  if (threadIdx.x == 0)
    partials[blockIdx.x] = sum;
  if (!is_last_block(scratch.counters, gridDim.x))
    return;
  double total = 0;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += each_threads)
    total += __ldcg(partials + block);
  total = block_sum<each_threads>(total);
  if (threadIdx.x == 0)
    *result += total;
}

__global__ void clip_factor_kernel(const double* squared_norm, float max_norm, float* factor) {
  *factor = clip_factor(*squared_norm, max_norm);
}

__global__ void update_loss_scale_kernel(LossScaleOptions options, LossScaleState* state,
                                         UpdateGate gate) {
  if (!is_closed(gate))
    update_loss_scale(options, *state);
}

__global__ void count_update_kernel(std::int64_t* steps, UpdateGate gate) {
  if (!is_closed(gate))
    ++*steps;
}

template <class Word>
__global__ void __launch_bounds__(each_threads)
    keep_kernel(Word* to, const Word* from, std::size_t words, UpdateGate gate) {
  if (is_closed(gate))
    return;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (auto i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words;
       i += stride)
    to[i] = from[i];
}

template <class Word>
void launch_keep_words(cudaStream_t stream, void* to, const void* from, std::size_t bytes,
                       const UpdateGate& gate) {
  const auto words = bytes / sizeof(Word);
  if (words > 0)
    keep_kernel<<<grid_for<keep_kernel<Word>>(words), each_threads, 0, stream>>>(
        static_cast<Word*>(to), static_cast<const Word*>(from), words, gate);
}

} // namespace

template <class Body>
void launch_ranges(cudaStream_t stream, std::span<const CastRange> ranges) {
  for (auto left = ranges; !left.empty();) {
    const auto count = std::min<std::size_t>(left.size(), most_ranges);
    launch_few_ranges<Body>(stream, left.first(count));
    left = left.subspan(count);
  }
}

void launch_cast(cudaStream_t stream, const void* from, DType from_type, void* to, DType to_type,
                 std::size_t elements) {
  with_type(from_type, [&](auto source) {
    with_type(to_type, [&](auto target) {
      using From = decltype(source);
      using To = decltype(target);
      launch_each<8>(stream, Cast<From, To>{static_cast<const From*>(from), static_cast<To*>(to)},
                     elements, aligned_for_packs(from, to));
    });
  });
}

void launch_cast_ranges(cudaStream_t stream, std::span<const CastRange> ranges, DType from_type,
                        DType to_type) {
  with_type(from_type, [&](auto source) {
    with_type(to_type, [&](auto target) {
      launch_ranges<Cast<decltype(source), decltype(target)>>(stream, ranges);
    });
  });
}

void launch_add_ranges(cudaStream_t stream, std::span<const CastRange> ranges, DType from_type) {
  with_type(from_type,
            [&](auto source) { launch_ranges<Accumulate<decltype(source)>>(stream, ranges); });
}

void launch_add(cudaStream_t stream, DType dtype, void* y, const void* a, const void* b,
                std::size_t elements) {
  launch_map(stream, dtype, Add{}, y, elements, a, b);
}

void launch_add_product(cudaStream_t stream, float* sum, const float* a, const float* b,
                        std::size_t elements) {
  launch_map<float>(stream, AddProduct{}, sum, elements, sum, a, b);
}

void launch_scale(cudaStream_t stream, float* values, float factor, std::size_t elements) {
  launch_map<float>(stream, Scale{factor}, values, elements, values);
}

void launch_round(cudaStream_t stream, float* values, DType type, std::size_t elements) {
  launch_map<float>(stream, Round{type}, values, elements, values);
}

void launch_add_squared_norm(cudaStream_t stream, const OptimizerArguments& arguments,
                             const float* gradients, std::size_t elements, double* result,
                             const LossScaleState* scaler, const ReductionScratch& scratch) {
  constexpr std::size_t elements_per_block = each_threads * 16;
  const auto blocks = static_cast<unsigned>(std::clamp<std::size_t>(
      (elements + elements_per_block - 1) / elements_per_block, 1, ReductionScratch::blocks));
  if (aligned_for_packs(gradients))
    add_squared_norm_kernel<4><<<blocks, each_threads, 0, stream>>>(arguments, gradients, elements,
                                                                    result, scaler, scratch);
  else
    add_squared_norm_kernel<1><<<blocks, each_threads, 0, stream>>>(arguments, gradients, elements,
                                                                    result, scaler, scratch);
}

void launch_clip_factor(cudaStream_t stream, const double* squared_norm, float max_norm,
                        float* factor) {
  clip_factor_kernel<<<1, 1, 0, stream>>>(squared_norm, max_norm, factor);
}

void launch_check_finite(cudaStream_t stream, const float* values, std::size_t elements,
                         float* found_inf) {
  launch_each<4>(stream, CheckFinite{values, found_inf}, elements, aligned_for_packs(values));
}

void launch_update_loss_scale(cudaStream_t stream, const LossScaleOptions& options,
                              LossScaleState* state, const UpdateGate& gate) {
  update_loss_scale_kernel<<<1, 1, 0, stream>>>(options, state, gate);
}

void launch_count_update(cudaStream_t stream, std::int64_t* steps, const UpdateGate& gate) {
  count_update_kernel<<<1, 1, 0, stream>>>(steps, gate);
}

void launch_keep(cudaStream_t stream, void* destination, const void* source, std::size_t bytes,
                 const UpdateGate& gate) {
  if (bytes % sizeof(uint4) == 0 && aligned_for_packs(destination, source))
    launch_keep_words<uint4>(stream, destination, source, bytes, gate);
  else
    launch_keep_words<std::uint32_t>(stream, destination, source, bytes, gate);
}

} // namespace troupe::gpu
