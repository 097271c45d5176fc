#include "gpu/detail/cuda_memory.hpp"

#include "core/device/memory_advice.hpp"
#include "core/fail.hpp"
#include "gpu/alignment.hpp"
#include "gpu/cuda_error.hpp"
#include "gpu/device_guard.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace troupe::gpu {

namespace {

Result<cudaMemPool_t> create_pool(int device) {
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  cudaMemPool_t pool = nullptr;
  TROUPE_TRY(cuda_status(cudaMemPoolCreate(&pool, &properties), "creating a memory pool", device));
  auto keep_everything = std::numeric_limits<std::uint64_t>::max();
  TROUPE_TRY(
      cuda_status(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_everything),
                  "setting up a memory pool", device));
  return pool;
}

} // namespace

Result<std::shared_ptr<CudaMemory>> CudaMemory::create(int device,
                                                       std::shared_ptr<IdleCalls> idle_calls) {
  const DeviceGuard guard{device};
  std::shared_ptr<CudaMemory> memory{new CudaMemory{device, std::move(idle_calls)}};
  TROUPE_TRY(cuda_status(cudaStreamCreateWithFlags(&memory->stream_, cudaStreamNonBlocking),
                         "creating a stream", device));
  int has_pools = 0;
  TROUPE_TRY(
      cuda_status(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, device),
                  "asking for memory pools", device));
  if (has_pools) {
    TROUPE_TRY(memory->pool_, create_pool(device));
  }
  return memory;
}

CudaMemory::~CudaMemory() {
  const DeviceGuard guard{device_};
  if (stream_) {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  if (pool_)
    cudaMemPoolDestroy(pool_);
}

/// Takes memory that any stream may use at once: it is zeroed, and the pool's stream has been
/// synchronized.
cudaError_t CudaMemory::take(void** memory, std::size_t bytes) {
  auto code =
      pool_ ? cudaMallocFromPoolAsync(memory, bytes, pool_, stream_) : cudaMalloc(memory, bytes);
  if (code == cudaErrorMemoryAllocation && pool_) {
    cudaGetLastError();
    // The pool's free memory may be fragmented; the driver can join it once it is given back.
    const bool trimmed = idle_calls_->try_call([this] {
      cudaStreamSynchronize(stream_);
      cudaMemPoolTrimTo(pool_, 0);
    });
    if (trimmed)
      code = cudaMallocFromPoolAsync(memory, bytes, pool_, stream_);
  }
  if (code != cudaSuccess) {
    cudaGetLastError();
    return code;
  }
  code = cudaMemsetAsync(*memory, 0, bytes, stream_);
  if (code == cudaSuccess)
    code = cudaStreamSynchronize(stream_);
  if (code != cudaSuccess)
    release(*memory);
  return code;
}

void CudaMemory::release(void* memory) {
  const DeviceGuard guard{device_};
  if (pool_)
    cudaFreeAsync(memory, stream_);
  else
    cudaFree(memory);
}

Result<BufferPtr> CudaMemory::allocate(std::size_t bytes, MemoryKind kind) {
  if (kind == MemoryKind::pinned)
    return take_pinned(bytes, account());
  const DeviceGuard guard{device_};
  const auto rounded = aligned(std::max<std::size_t>(bytes, 1));
  std::size_t free_bytes = 0, total_bytes = 0;
  cudaMemGetInfo(&free_bytes, &total_bytes);
  void* memory = nullptr;
  // Does not ask for more than the device has: drivers answer differently.
  const auto code =
      rounded < bytes || rounded > total_bytes ? cudaErrorMemoryAllocation : take(&memory, rounded);
  if (code == cudaErrorMemoryAllocation)
    return failure(out_of_memory(bytes, kind, device_, free_bytes, total_bytes, account_.use()));
  TROUPE_TRY(cuda_status(code, "allocating memory", device_));
  return std::make_shared<CountedBuffer>(memory, bytes, kind, account(),
                                         [this, memory] { release(memory); });
}

Error out_of_memory(std::size_t asked, MemoryKind kind, int device, std::size_t free_bytes,
                    std::size_t total_bytes, const MemoryUse& use) {
  return {Errc::out_of_memory,
          fmt::format("CUDA device {} cannot allocate {} ({} bytes) of {}: {} of {} are free, and "
                      "this process holds {}; try {}",
                      device, describe_bytes(asked), asked, to_string(kind),
                      describe_bytes(free_bytes), describe_bytes(total_bytes), describe(use),
                      settings_that_help(kind))};
}

Status CudaMemory::open_to(int device) const {
  if (pool_) { // cudaDeviceEnablePeerAccess does not affect a pool
    const cudaMemAccessDesc access{{cudaMemLocationTypeDevice, device},
                                   cudaMemAccessFlagsProtReadWrite};
    const auto code = cudaMemPoolSetAccess(pool_, &access, 1);
    if (code != cudaSuccess)
      cudaGetLastError(); // clears the error: the result reports it
    return cuda_status(code, "opening memory to a peer", device_);
  }
  const DeviceGuard guard{device};
  const auto code = cudaDeviceEnablePeerAccess(device_, 0);
  cudaGetLastError(); // enabling it twice is not an error
  return code == cudaErrorPeerAccessAlreadyEnabled
             ? Status{}
             : cuda_status(code, "opening memory to a peer", device_);
}

Result<BufferPtr> CudaMemory::take_pinned(std::size_t bytes,
                                          std::shared_ptr<MemoryAccount> counted) const {
  const auto locked = std::max<std::size_t>(bytes, 1);
  TROUPE_TRY(auto* const memory, page_lock(locked));
  std::memset(memory, 0, locked);
  const auto free = [calls = idle_calls_, device = device_, memory, locked] {
    calls->free_host(memory, locked, device);
  };
  return std::make_shared<CountedBuffer>(memory, bytes, MemoryKind::pinned, std::move(counted),
                                         free);
}

/// Takes a block of this size that waits to be freed, so that such blocks do not pile up in a
/// running job. Takes a larger one if the host has no room.
Result<void*> CudaMemory::page_lock(std::size_t bytes) const {
  if (auto* const kept = idle_calls_->reuse(bytes, bytes))
    return kept;
  const DeviceGuard guard{device_};
  void* memory = nullptr;
  if (cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) != cudaSuccess) {
    cudaGetLastError();
    if (auto* const kept = idle_calls_->reuse(bytes, std::numeric_limits<std::size_t>::max()))
      return kept;
    return fail(Errc::out_of_memory, "the host cannot allocate {} of page-locked memory",
                describe_bytes(bytes));
  }
  return memory;
}

} // namespace troupe::gpu
