/// Memory of a CUDA device, and pinned memory of its host.
#pragma once

#include "core/device/device.hpp"
#include "core/device/memory_account.hpp"
#include "gpu/detail/idle_calls.hpp"

#include <cuda_runtime_api.h>

#include <memory>

namespace troupe::gpu {

/// A pool that keeps the memory it got from the driver: in a running job, allocating and freeing
/// take microseconds and synchronize nothing. Thread-safe.
///
/// As on the host, destroy a buffer only after the work that uses it is done: freeing waits for no
/// stream.
class CudaMemory : public std::enable_shared_from_this<CudaMemory> {
public:
  static Result<std::shared_ptr<CudaMemory>> create(int device,
                                                    std::shared_ptr<IdleCalls> idle_calls);
  ~CudaMemory();
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  /// Allocates zeroed, 256-byte aligned memory. Kind pinned is allocated as by allocate_pinned(),
  /// but counted. Errors: out_of_memory.
  Result<BufferPtr> allocate(std::size_t bytes, MemoryKind kind);
  /// Allocates zeroed page-locked host memory that the device accesses at full speed. It is not
  /// counted: staging memory is not part of a job's state.
  Result<BufferPtr> allocate_pinned(std::size_t bytes) const { return take_pinned(bytes, nullptr); }
  MemoryUse use() const { return account_.use(); }
  /// Allows kernels of another device, which reaches this one, to read and write all of its memory.
  Status open_to(int device) const;

private:
  CudaMemory(int device, std::shared_ptr<IdleCalls> idle_calls)
      : device_{device}, idle_calls_{std::move(idle_calls)} {}
  cudaError_t take(void** memory, std::size_t bytes);
  void release(void* memory);
  /// `counted` may be null.
  Result<BufferPtr> take_pinned(std::size_t bytes, std::shared_ptr<MemoryAccount> counted) const;
  /// The account, which keeps this object alive.
  std::shared_ptr<MemoryAccount> account() { return {shared_from_this(), &account_}; }
  Result<void*> page_lock(std::size_t bytes) const;

  int device_;
  std::shared_ptr<IdleCalls> idle_calls_;
  cudaMemPool_t pool_ = nullptr;  ///< null if the device has no pools
  cudaStream_t stream_ = nullptr; ///< orders the pool's work
  MemoryAccount account_;
};

/// Returns Errc::out_of_memory with the requested size, the memory in use by kind, the free memory,
/// and settings that help.
Error out_of_memory(std::size_t asked, MemoryKind kind, int device, std::size_t free_bytes,
                    std::size_t total_bytes, const MemoryUse& use);

} // namespace troupe::gpu
