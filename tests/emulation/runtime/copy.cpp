// Copies and fills. The call itself reports an invalid address, not the copy.
#include "tests/emulation/runtime/loading.hpp"
#include "tests/emulation/runtime/memory.hpp"
#include "tests/emulation/runtime/settings.hpp"
#include "tests/emulation/runtime/stream.hpp"

#include <cstring>
#include <optional>
#include <vector>

#include <sys/mman.h>

using namespace emulation;

namespace {

/// Largest copy from pageable memory that is buffered before the call returns.
constexpr std::size_t most_taken_at_once = std::size_t{64} << 10;

/// One end of a copy.
struct End {
  std::optional<Allocation> allocation; ///< none: pageable host memory

  explicit End(const void* address) : allocation{Memory::instance().find(address)} {}
  bool pageable() const { return !allocation; }
  bool on_device() const { return allocation && allocation->device != Allocation::host; }
};

bool fits(const void* address, std::size_t bytes) {
  const End end{address};
  return end.pageable() || bytes == 0 || Memory::instance().covers(address, bytes);
}

bool agrees(cudaMemcpyKind kind, const End& to, const End& from) {
  switch (kind) {
  case cudaMemcpyDefault:
    return true;
  case cudaMemcpyHostToDevice:
    return to.on_device() && !from.on_device();
  case cudaMemcpyDeviceToHost:
    return !to.on_device() && from.on_device();
  case cudaMemcpyDeviceToDevice:
    return to.on_device() && from.on_device();
  case cudaMemcpyHostToHost:
    return !to.on_device() && !from.on_device();
  }
  return false;
}

/// Copies can access every device's memory, with or without peer access.
void copy(void* to, const void* from, std::size_t bytes) {
  std::optional<DeviceAccess> to_access, from_access;
  if (const End end{to}; end.on_device())
    to_access.emplace(end.allocation->device);
  if (const End end{from}; end.on_device())
    from_access.emplace(end.allocation->device);
  std::memmove(to, from, bytes);
}

/// Replaces whole pages by fresh pages of zeros: otherwise large workspaces would occupy memory.
void fill(std::byte* memory, int value, std::size_t bytes) {
  constexpr std::size_t page = 4096;
  const DeviceAccess access{Memory::instance().find(memory)->device};
  const auto before = (page - reinterpret_cast<std::uintptr_t>(memory) % page) % page;
  if (value != 0 || bytes < before + page) {
    std::memset(memory, value, bytes);
    return;
  }
  const auto pages = (bytes - before) / page * page;
  std::memset(memory, 0, before);
  madvise(memory + before, pages, MADV_DONTNEED);
  std::memset(memory + before + pages, 0, bytes - before - pages);
}

} // namespace

extern "C" {

/// Behaves like the driver. From pageable memory, a few bytes are buffered before the call returns,
/// and many bytes go chunk by chunk through a small buffer. To pageable memory, the call returns
/// after the copy.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t handle) {
  note_launch();
  const End target{to}, source{from};
  if (!fits(to, bytes) || !fits(from, bytes) || !agrees(kind, target, source))
    return remember(cudaErrorInvalidValue);
  if (bytes == 0)
    return cudaSuccess;
  if (target.pageable() || source.pageable())
    EMULATION_TRY(refuse_while_capturing());
  if (!source.pageable()) {
    const auto within_device = target.on_device() && source.on_device();
    const auto add = within_device ? enqueue_operation : enqueue;
    EMULATION_TRY(add(handle, [=] { copy(to, from, bytes); }));
  } else {
    const auto* const begin = static_cast<const std::byte*>(from);
    EMULATION_TRY(enqueue(handle, [to, taken = std::vector<std::byte>(begin, begin + bytes)] {
      copy(to, taken.data(), taken.size());
    }));
  }
  const bool waits = target.pageable() || (source.pageable() && bytes > most_taken_at_once);
  return waits ? cudaStreamSynchronize(handle) : cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  EMULATION_TRY(refuse_while_capturing());
  EMULATION_TRY(cudaMemcpyAsync(to, from, bytes, kind, nullptr));
  return cudaStreamSynchronize(nullptr);
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  note_launch();
  if (bytes == 0)
    return cudaSuccess;
  if (!Memory::instance().covers(memory, bytes) || !End{memory}.on_device())
    return remember(cudaErrorInvalidValue);
  return remember(enqueue(stream, [=] { fill(static_cast<std::byte*>(memory), value, bytes); }));
}

cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  EMULATION_TRY(refuse_while_capturing());
  return cudaMemsetAsync(memory, value, bytes, nullptr);
}
}
