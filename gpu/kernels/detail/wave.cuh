/// Grids of at most one full wave: as many blocks as the device holds at once. More blocks would
/// start only after others end, and the last of them would leave most multiprocessors idle.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

namespace troupe::gpu {

/// Returns how many blocks of `Threads` threads of the kernel a multiprocessor of the current
/// device holds at once. Asks the runtime once per device, which is no operation of a stream and so
/// may happen in a capture.
template <auto Kernel, int Threads>
int resident_blocks(int device) {
  static std::array<std::atomic<int>, 64> known = {}; // by device; 0: not asked yet
  const auto index = static_cast<std::size_t>(device) % known.size();
  int blocks = known[index];
  if (blocks == 0) {
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reinterpret_cast<const void*>(Kernel),
                                                  Threads, 0);
    blocks = std::max(blocks, 1); // the launch reports the error
    known[index] = blocks;
  }
  return blocks;
}

/// Returns the blocks of `Threads` threads that the current device holds at once.
template <auto Kernel, int Threads>
std::size_t full_wave() {
  int device = 0, multiprocessors = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  return static_cast<std::size_t>(multiprocessors) *
         static_cast<std::size_t>(resident_blocks<Kernel, Threads>(device));
}

/// Returns enough blocks for `threads_wanted`, but at most a full wave, and at least one.
template <auto Kernel, int Threads>
unsigned grid_of(std::size_t threads_wanted) {
  const auto blocks = (threads_wanted + Threads - 1) / Threads;
  return static_cast<unsigned>(std::clamp<std::size_t>(blocks, 1, full_wave<Kernel, Threads>()));
}

} // namespace troupe::gpu
