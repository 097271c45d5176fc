/// Page-locked host memory that is used again: what leaves the device for ordinary memory passes
/// through it, because the driver would hold up the caller otherwise.
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

  /// At least `bytes`; back in the pool when the last pointer to it goes. Errors: out_of_memory.
  Result<BufferPtr> take(std::size_t bytes);
  /// Makes buffers of each size up to 16 MiB, 32 MiB in all: the driver may block a thread that
  /// allocates page-locked memory while a stream waits for the host. For set-up. Errors:
  /// out_of_memory.
  Status fill();

private:
  std::shared_ptr<CudaMemory> memory_;
  std::mutex mutex_;
  std::multimap<std::size_t, BufferPtr> free_; ///< by size
};

} // namespace troupe::gpu
