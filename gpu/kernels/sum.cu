#include "gpu/kernels/detail/each.cuh"
#include "gpu/kernels/sum.hpp"

#include <cstdint>

namespace troupe::gpu {

namespace {

template <class T>
struct SumFloats {
  SumSources sources;
  T* sum;

  template <int Width>
  __device__ void run(std::size_t at) const {
    float total[Width], values[Width];
    load_floats(static_cast<const T*>(sources.data[0]) + at, total);
    for (int source = 1; source < sources.count; ++source) {
      load_floats(static_cast<const T*>(sources.data[source]) + at, values);
#pragma unroll
      for (int i = 0; i < Width; ++i)
        total[i] += values[i];
    }
    store_floats(sum + at, total);
  }
};

/// For types that only sums use: counts and norms, a few elements at a time.
template <class T>
struct SumPlain {
  SumSources sources;
  T* sum;

  template <int Width>
  __device__ void run(std::size_t at) const {
    T total = static_cast<const T*>(sources.data[0])[at];
    for (int source = 1; source < sources.count; ++source)
      total = static_cast<T>(total + static_cast<const T*>(sources.data[source])[at]);
    sum[at] = total;
  }
};

template <class T>
void launch_plain(cudaStream_t stream, const SumSources& sources, void* sum, std::size_t elements) {
  launch_each<1>(stream, SumPlain<T>{sources, static_cast<T*>(sum)}, elements, true);
}

bool aligned(const SumSources& sources, const void* sum) {
  bool all = aligned_for_packs(sum);
  for (int source = 0; source < sources.count; ++source)
    all = all && aligned_for_packs(sources.data[source]);
  return all;
}

} // namespace

void launch_sum(cudaStream_t stream, DType type, const SumSources& sources, void* sum,
                std::size_t elements) {
  switch (type) {
  case DType::f64:
    return launch_plain<double>(stream, sources, sum, elements);
  case DType::i32: // unsigned, so that sums wrap
    return launch_plain<std::uint32_t>(stream, sources, sum, elements);
  case DType::u8:
    return launch_plain<std::uint8_t>(stream, sources, sum, elements);
  default:
    with_type(type, [&](auto zero) {
      using T = decltype(zero);
      launch_each<pack_width<T>>(stream, SumFloats<T>{sources, static_cast<T*>(sum)}, elements,
                                 aligned(sources, sum));
    });
  }
}

} // namespace troupe::gpu
