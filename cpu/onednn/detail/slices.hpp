/// Division of a batch into slices that stay in a core's cache between the kernels that process
/// them one after the other.
#pragma once

#include "cpu/caches.hpp"
#include "cpu/onednn/detail/step.hpp"
#include "cpu/parallel.hpp"

#include <algorithm>
#include <cstdint>

namespace troupe::cpu {

/// Either threads work concurrently on different slices, each kernel on one thread; or all threads
/// work together on the whole batch as one slice. A worker is not a thread: another thread may
/// continue its slices.
struct Slicing {
  std::int64_t images; ///< in a slice
  std::int64_t count;  ///< of slices
  bool side_by_side;
  int threads; ///< of the team

  /// Threads that the primitives of a slice are made for.
  int inner_threads() const { return side_by_side ? 1 : threads; }
  std::size_t workers() const { return side_by_side ? static_cast<std::size_t>(threads) : 1; }
};

/// Bytes that a slice may touch: most of a thread's share of the second-level cache.
inline std::size_t slice_bytes() {
  return caches().l2.bytes_per_thread() / 4 * 3;
}

/// Slices of at most `fitting` images.
inline Slicing slice_batch(std::int64_t batch, std::int64_t fitting, int threads) {
  if (batch % threads != 0)
    return {batch, 1, false, threads};
  const std::int64_t share = batch / threads;
  std::int64_t images = std::clamp<std::int64_t>(fitting, 1, share);
  while (share % images != 0)
    --images;
  return {images, batch / images, true, threads};
}

/// Weights are read once for each slice, so slices should not be smaller than the weights.
inline Slicing slice_batch(std::int64_t batch, std::size_t bytes_per_image,
                           std::size_t weight_bytes, int threads) {
  const auto fitting =
      std::max(slice_bytes(), 2 * weight_bytes) / std::max<std::size_t>(bytes_per_image, 1);
  return slice_batch(batch, static_cast<std::int64_t>(fitting), threads);
}

/// Calls fn(slice, worker) for all slices. A worker has a contiguous range of slices, and runs them
/// one after the other.
template <class Fn>
void for_slices(const Slicing& slicing, Fn&& fn) {
  if (!slicing.side_by_side) {
    fn(std::int64_t{0}, std::size_t{0});
    return;
  }
  parallel_lanes(
      slicing.workers(), static_cast<std::size_t>(slicing.count),
      [&](std::size_t slice, std::size_t worker) { fn(static_cast<std::int64_t>(slice), worker); });
}

} // namespace troupe::cpu
