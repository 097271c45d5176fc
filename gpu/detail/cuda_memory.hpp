/// Memory of a CUDA device, and pinned memory of its host.
#pragma once

#include "core/device/device.hpp"
#include "core/device/memory_account.hpp"
#include "gpu/detail/idle_calls.hpp"

#include <cuda_runtime_api.h>

#include <memory>

namespace troupe::gpu {

/// A pool that keeps what it has got from the driver: allocating and freeing in a running job cost
/// microseconds and synchronize nothing. Thread-safe.
///
/// As on the host, a buffer is destroyed when the work that uses it is done, and not earlier:
/// freeing waits for no stream.
class CudaMemory : public std::enable_shared_from_this<CudaMemory> {
public:
  static Result<std::shared_ptr<CudaMemory>> create(int device,
                                                    std::shared_ptr<IdleCalls> idle_calls);
  ~CudaMemory();
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  /// Zeroed, 256-byte aligned; of kind pinned as allocate_pinned(), but counted. Errors:
  /// out_of_memory.
  Result<BufferPtr> allocate(std::size_t bytes, MemoryKind kind);
  /// Page-locked host memory, zeroed, that the device reads and writes at full speed. In no
  /// account: what passes through on its way is no part of a job's state.
  Result<BufferPtr> allocate_pinned(std::size_t bytes) const { return take_pinned(bytes, nullptr); }
  MemoryUse use() const { return account_.use(); }
  /// Kernels of another device, which reaches this one, may read and write all memory of it.
  Status open_to(int device) const;

private:
  class DeviceBuffer;
  class PinnedBuffer;

  CudaMemory(int device, std::shared_ptr<IdleCalls> idle_calls)
      : device_{device}, idle_calls_{std::move(idle_calls)} {}
  cudaError_t take(void** memory, std::size_t bytes);
  void release(void* memory);
  Result<BufferPtr> take_pinned(std::size_t bytes, std::shared_ptr<CudaMemory> counted) const;
  Result<void*> page_lock(std::size_t bytes) const;

  int device_;
  std::shared_ptr<IdleCalls> idle_calls_;
  cudaMemPool_t pool_ = nullptr;  ///< null where the device has no pools
  cudaStream_t stream_ = nullptr; ///< on which the pool's work is ordered
  MemoryAccount account_;
};

} // namespace troupe::gpu
