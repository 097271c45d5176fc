/// Reused page-locked host memory. Copies from the device to pageable memory pass through it,
/// because the driver would otherwise block the caller.
#pragma once

#include "gpu/detail/cuda_memory.hpp"

#include <map>
#include <memory>
#include <mutex>

namespace troupe::gpu {

/// Thread-safe. Must be held by a shared_ptr.
class StagingPool : public std::enable_shared_from_this<StagingPool> {
public:
  explicit StagingPool(std::shared_ptr<CudaMemory> memory) : memory_{std::move(memory)} {}

  /// Returns a buffer of at least `bytes`. It returns to the pool when its last pointer is
  /// destroyed. Errors: out_of_memory.
  Result<BufferPtr> take(std::size_t bytes);
  /// Allocates buffers of each size up to 16 MiB, 32 MiB in total. Done at set-up, because the
  /// driver may block a thread that allocates page-locked memory while a stream waits for the host.
  /// Errors: out_of_memory.
  Status fill();

private:
  std::shared_ptr<CudaMemory> memory_;
  std::mutex mutex_;
  std::multimap<std::size_t, BufferPtr> free_; ///< by size
};

} // namespace troupe::gpu
