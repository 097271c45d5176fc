// Allocations: immediate, stream-ordered, and of host memory.
#include "tests/emulation/runtime/loading.hpp"
#include "tests/emulation/runtime/memory.hpp"
#include "tests/emulation/runtime/recording.hpp"
#include "tests/emulation/runtime/settings.hpp"
#include "tests/emulation/runtime/stream.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <set>
#include <span>

/// A memory pool keeps freed memory, in pieces, until it is trimmed.
struct CUmemPoolHandle_st {
  int device;
  std::mutex mutex = {};
  std::multiset<std::size_t> pieces = {};
  std::set<int> peers = {}; ///< devices with access to it

  std::size_t kept() {
    std::size_t bytes = 0;
    for (const auto piece : pieces)
      bytes += piece;
    return bytes;
  }
};

using namespace emulation;

namespace {

std::byte* bytes_at(void* address) {
  return static_cast<std::byte*>(address);
}

/// Returns the allocation of this kind that begins at this address.
std::optional<Allocation> beginning_at(const void* address, bool host) {
  const auto found = Memory::instance().find(address);
  if (found && found->data == address && (found->device == Allocation::host) == host)
    return found;
  return std::nullopt;
}

std::atomic<std::uint64_t> page_locks = 0;

bool is_pool(cudaMemPool_t pool) {
  return Handles<CUmemPoolHandle_st>::instance().has(pool);
}

/// The pool of each allocation, by address; other allocations belong to no pool.
std::map<const void*, cudaMemPool_t>& owners() {
  static auto* const all = new std::map<const void*, cudaMemPool_t>;
  return *all;
}

std::mutex& owners_mutex() {
  static std::mutex mutex;
  return mutex;
}

cudaMemPool_t owner_of(const void* address) {
  const std::lock_guard lock{owners_mutex()};
  const auto owner = owners().find(address);
  return owner == owners().end() ? nullptr : owner->second;
}

/// Takes memory from a piece of the pool that is large enough, if there is one.
void use_piece(CUmemPoolHandle_st& pool, std::size_t bytes) {
  if (const auto piece = pool.pieces.lower_bound(bytes); piece != pool.pieces.end()) {
    const auto rest = *piece - bytes;
    pool.pieces.erase(piece);
    if (rest > 0)
      pool.pieces.insert(rest);
  }
}

} // namespace

bool emulation::opened_to(const void* address, int device) {
  const auto found = Memory::instance().find(address);
  if (!found || found->device == Allocation::host || found->device == device)
    return true;
  auto* const pool = owner_of(found->data);
  if (!pool)
    return false;
  const std::lock_guard lock{pool->mutex};
  return pool->peers.contains(device);
}

extern "C" {

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  EMULATION_TRY(refuse_while_capturing());
  EMULATION_TRY(standing_error());
  auto* const data = Memory::instance().reserve(current_device(), bytes);
  if (!data)
    return remember(cudaErrorMemoryAllocation);
  Memory::instance().open(data);
  *memory = data;
  return cudaSuccess;
}

/// Waits for all work of the device, as CUDA's does.
cudaError_t cudaFree(void* memory) {
  EMULATION_TRY(refuse_while_capturing());
  if (!memory)
    return cudaSuccess;
  const auto found = beginning_at(memory, false);
  if (!found)
    return remember(cudaErrorInvalidValue);
  drain_device(found->device);
  Memory::instance().close(found->data);
  return remember(standing_error());
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  EMULATION_TRY(refuse_while_capturing());
  EMULATION_TRY(standing_error());
  use_context();
  ++page_locks;
  auto* const data = Memory::instance().reserve(Allocation::host, bytes);
  if (!data)
    return remember(cudaErrorMemoryAllocation);
  Memory::instance().open(data);
  *memory = data;
  return cudaSuccess;
}

/// Waits until all devices of the process are idle, as CUDA's does.
cudaError_t cudaFreeHost(void* memory) {
  EMULATION_TRY(refuse_while_capturing());
  use_context();
  if (!memory)
    return cudaSuccess;
  if (!beginning_at(memory, true))
    return remember(cudaErrorInvalidValue);
  call_alone_on_all([memory] { Memory::instance().close(bytes_at(memory)); });
  return remember(standing_error());
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  const auto found = Memory::instance().find(host);
  if (!found || found->device != Allocation::host)
    return remember(cudaErrorInvalidValue);
  *device = host;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  *attributes = {};
  use_context();
  const auto found = Memory::instance().find(address);
  if (!found)
    return cudaSuccess; // cudaMemoryTypeUnregistered
  attributes->type = found->device == Allocation::host ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
  attributes->device = std::max(found->device, 0);
  attributes->devicePointer = const_cast<void*>(address);
  if (found->device == Allocation::host)
    attributes->hostPointer = const_cast<void*>(address);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  EMULATION_TRY(standing_error());
  std::size_t used = Memory::instance().used(current_device());
  Handles<CUmemPoolHandle_st>::instance().for_each([&](cudaMemPool_t pool) {
    const std::lock_guard lock{pool->mutex};
    if (pool->device == current_device())
      used += pool->kept();
  });
  *total = memory_of_device();
  *free = *total - std::min(used, *total);
  return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  if (properties->allocType != cudaMemAllocationTypePinned ||
      properties->location.type != cudaMemLocationTypeDevice)
    return remember(cudaErrorInvalidValue);
  *pool =
      Handles<CUmemPoolHandle_st>::instance().add(new CUmemPoolHandle_st{properties->location.id});
  return cudaSuccess;
}

/// Accepts only the setting that troupe uses, which keeps all memory: these pools always do so.
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  const bool keeps_all =
      attribute == cudaMemPoolAttrReleaseThreshold &&
      *static_cast<std::uint64_t*>(value) == std::numeric_limits<std::uint64_t>::max();
  return is_pool(pool) && keeps_all ? cudaSuccess : remember(cudaErrorInvalidValue);
}

/// From now on, the protection key lets the peer's threads access all memory of the device;
/// opened_to() checks which pool was opened.
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* accesses,
                                 std::size_t count) {
  for (const auto& access : std::span{accesses, count}) {
    int can = 0;
    if (!is_pool(pool) || access.location.type != cudaMemLocationTypeDevice ||
        access.flags != cudaMemAccessFlagsProtReadWrite ||
        cudaDeviceCanAccessPeer(&can, access.location.id, pool->device) != cudaSuccess || !can)
      return remember(cudaErrorInvalidDevice);
    if (!pools_may_open())
      return remember(cudaErrorNotSupported);
    enable_peer(access.location.id, pool->device);
    const std::lock_guard lock{pool->mutex};
    pool->peers.insert(access.location.id);
  }
  return cudaSuccess;
}

/// Waits for an idle device.
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t bytes) {
  if (!is_pool(pool) || bytes != 0)
    return remember(cudaErrorInvalidValue);
  call_alone(pool->device, [pool] {
    const std::lock_guard lock{pool->mutex};
    pool->pieces.clear();
  });
  return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  if (!Handles<CUmemPoolHandle_st>::instance().remove(pool))
    return remember(cudaErrorInvalidValue);
  return cudaSuccess; // not freed, as allocations may still refer to it: it is small
}

/// The memory may be used once the stream has reached the allocation.
cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream) {
  if (!is_pool(pool))
    return remember(cudaErrorInvalidValue);
  const std::lock_guard lock{pool->mutex};
  use_piece(*pool, bytes);
  if (Memory::instance().used(pool->device) + pool->kept() + bytes > memory_of_device())
    return remember(cudaErrorMemoryAllocation);
  auto* const data = Memory::instance().reserve(pool->device, bytes);
  if (!data)
    return remember(cudaErrorMemoryAllocation);
  EMULATION_TRY(enqueue(stream, [data] { Memory::instance().open(data); }));
  const std::lock_guard owners_lock{owners_mutex()};
  owners()[data] = pool;
  *memory = data;
  return cudaSuccess;
}

cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  const auto found = beginning_at(memory, false);
  const auto pool = owner_of(memory);
  if (!found || !pool)
    return remember(cudaErrorInvalidValue);
  EMULATION_TRY(enqueue(stream, [data = found->data] { Memory::instance().close(data); }));
  {
    const std::lock_guard lock{owners_mutex()};
    owners().erase(memory);
  }
  const std::lock_guard lock{pool->mutex};
  pool->pieces.insert(found->bytes);
  return cudaSuccess;
}
}

std::uint64_t troupe_emulated_page_locks() {
  return page_locks;
}
