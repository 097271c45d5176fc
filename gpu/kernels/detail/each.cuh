/// Element-wise kernels over flat memory: a grid-stride loop over packs, then the remaining
/// elements.
#pragma once

#include "gpu/kernels/detail/pack.cuh"
#include "gpu/kernels/detail/wave.cuh"

#include <cstddef>

namespace troupe::gpu {

inline constexpr int each_threads = 256;

/// Returns the grid of a kernel with blocks of `each_threads` threads.
template <auto Kernel>
unsigned grid_for(std::size_t threads_wanted) {
  return grid_of<Kernel, each_threads>(threads_wanted);
}

/// Calls body.run<Width>(at), which works on elements [at, at + Width), for this thread's packs,
/// and body.run<1>(at) for its part of the remaining elements.
template <int Width, class Body>
__device__ void run_each(const Body& body, std::size_t elements) {
  const std::size_t packs = elements / Width;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::size_t i = first; i < packs; i += stride)
    body.template run<Width>(i * Width);
  if constexpr (Width > 1)
    for (std::size_t i = packs * Width + first; i < elements; i += stride)
      body.template run<1>(i);
}

template <int Width, class Body>
__global__ void __launch_bounds__(each_threads) each_kernel(Body body, std::size_t elements) {
  run_each<Width>(body, elements);
}

/// `aligned`: whether all addresses are (aligned_for_packs).
template <int Width, class Body>
void launch_each(cudaStream_t stream, const Body& body, std::size_t elements, bool aligned) {
  if (elements == 0)
    return;
  if (aligned)
    each_kernel<Width><<<grid_for<each_kernel<Width, Body>>((elements + Width - 1) / Width),
                         each_threads, 0, stream>>>(body, elements);
  else
    each_kernel<1>
        <<<grid_for<each_kernel<1, Body>>(elements), each_threads, 0, stream>>>(body, elements);
}

/// to = function(an element of each input), computed in f32. `to` may be an input.
template <class T, class Function, int Count>
struct Map {
  const T* inputs[Count];
  T* to;
  Function function;

  template <int Width>
  __device__ void run(std::size_t at) const {
    float v[Count][Width];
#pragma unroll
    for (int input = 0; input < Count; ++input)
      load_floats(inputs[input] + at, v[input]);
#pragma unroll
    for (int i = 0; i < Width; ++i)
      if constexpr (Count == 1)
        v[0][i] = function(v[0][i]);
      else if constexpr (Count == 2)
        v[0][i] = function(v[0][i], v[1][i]);
      else
        v[0][i] = function(v[0][i], v[1][i], v[2][i]);
    store_floats(to + at, v[0]);
  }
};

/// Launches a Map of inputs of type T.
template <class T, class Function, class... Inputs>
void launch_map(cudaStream_t stream, const Function& function, void* to, std::size_t elements,
                const Inputs*... inputs) {
  const Map<T, Function, sizeof...(Inputs)> map{
      {static_cast<const T*>(inputs)...}, static_cast<T*>(to), function};
  launch_each<pack_width<T>>(stream, map, elements, aligned_for_packs(to, inputs...));
}

/// As above, for inputs of a floating-point dtype.
template <class Function, class... Inputs>
void launch_map(cudaStream_t stream, DType dtype, const Function& function, void* to,
                std::size_t elements, const Inputs*... inputs) {
  with_type(dtype, [&](auto type) {
    launch_map<decltype(type)>(stream, function, to, elements, inputs...);
  });
}

} // namespace troupe::gpu
