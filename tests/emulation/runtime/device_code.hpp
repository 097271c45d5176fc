/// Declarations that kernels need, for the host's compiler: included before each kernel.
#pragma once

#include "tests/emulation/runtime/launch.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <math.h> // isnan, fmaf and others without std::, as in CUDA

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __launch_bounds__
#define __global__
#define __device__
#define __host__
#define __shared__ static thread_local // a host thread runs one block at a time
#define __launch_bounds__(...)

#define threadIdx (::emulation::place.thread)
#define blockIdx (::emulation::place.block)
#define blockDim (::emulation::place.block_size)
#define gridDim (::emulation::place.grid_size)

namespace emulation {

struct Place {
  uint3 thread, block;
  dim3 block_size, grid_size;
};
/// Indices of the running thread.
extern thread_local Place place [[gnu::tls_model("initial-exec")]];

void block_barrier();
/// Exchanges `bytes` bytes between all lanes of the warp: each lane gets those of the lane whose
/// number differs in the bits of `lanes`.
void exchange_in_warp(void* value, std::size_t bytes, unsigned lanes);
/// Registers a block's use of a shared variable; the first use fills it with garbage.
void fresh_shared(void* variable, std::size_t bytes);

} // namespace emulation

inline void __syncthreads() {
  ::emulation::block_barrier();
}

inline void __threadfence() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

template <class T>
T __ldcg(const T* address) {
  return *address;
}

template <class T>
T __ldcv(const T* address) {
  return std::atomic_ref{const_cast<T&>(*address)}.load(std::memory_order_acquire);
}

template <class T>
T __shfl_xor_sync(unsigned, T value, int lanes) {
  ::emulation::exchange_in_warp(&value, sizeof value, static_cast<unsigned>(lanes));
  return value;
}

inline unsigned atomicInc(unsigned* address, unsigned most) {
  std::atomic_ref<unsigned> value{*address};
  unsigned old = value;
  while (!value.compare_exchange_weak(old, old >= most ? 0 : old + 1))
    ;
  return old;
}
