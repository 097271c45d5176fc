/// Element-wise kernels over flat memory: a grid-stride loop over packs, then the remaining
/// elements.
#pragma once

#include "gpu/kernels/detail/pack.cuh"

#include <algorithm>
#include <cstddef>

namespace troupe::gpu {

inline constexpr int each_threads = 256;

/// Returns the number of multiprocessors of the current device.
inline int multiprocessors() {
  int device = 0, count = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

/// Returns enough blocks for `threads_wanted`, but at most 2048 threads per multiprocessor.
inline unsigned grid_for(std::size_t threads_wanted) {
  const auto blocks = (threads_wanted + each_threads - 1) / each_threads;
  return static_cast<unsigned>(
      std::min(std::max<std::size_t>(blocks, 1), static_cast<std::size_t>(multiprocessors()) * 8));
}

/// `body.run<Width>(at)` works on elements [at, at + Width).
template <int Width, class Body>
__global__ void __launch_bounds__(each_threads) each_kernel(Body body, std::size_t elements) {
  const std::size_t packs = elements / Width;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::size_t i = first; i < packs; i += stride)
    body.template run<Width>(i * Width);
  if constexpr (Width > 1)
    for (std::size_t i = packs * Width + first; i < elements; i += stride)
      body.template run<1>(i);
}

/// `aligned`: whether all addresses are (aligned_for_packs).
template <int Width, class Body>
void launch_each(cudaStream_t stream, const Body& body, std::size_t elements, bool aligned) {
  if (elements == 0)
    return;
  if (aligned)
    each_kernel<Width>
        <<<grid_for((elements + Width - 1) / Width), each_threads, 0, stream>>>(body, elements);
  else
    each_kernel<1><<<grid_for(elements), each_threads, 0, stream>>>(body, elements);
}

} // namespace troupe::gpu
