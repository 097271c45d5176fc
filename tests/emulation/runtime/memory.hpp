/// The memory of the emulated devices, and page-locked memory of the host.
///
/// A device's memory carries a protection key: only threads that run its operations may access it.
/// Host code that dereferences a device pointer ends with a segmentation fault, as does a kernel
/// that dereferences a pointer of another device. (On processors without protection keys, none of
/// this is detected.) An allocation ends at the end of its last page, followed by an inaccessible
/// page; freed memory is not reused and stays inaccessible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace emulation {

/// Gives the calling thread access to a device's memory, in addition to existing access.
class DeviceAccess {
public:
  explicit DeviceAccess(int device);
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;

private:
  int key_, former_ = 0;
};

struct Allocation {
  static constexpr int host = -1;

  int device; ///< host: page-locked
  std::byte* data;
  std::size_t bytes;
  bool open = false; ///< may be accessed
};

/// Thread-safe.
class Memory {
public:
  static Memory& instance();

  /// Reserves `bytes` bytes, which open() makes accessible; returns null when the device is full.
  std::byte* reserve(int device, std::size_t bytes);
  /// Makes memory accessible. Fills device memory with ones: NaN in every type.
  void open(std::byte* data);
  /// Makes memory inaccessible. A write past its end becomes a sticky error.
  void close(std::byte* data);
  /// open() and close() require addresses from reserve(); the functions below accept any address.
  std::optional<Allocation> find(const void* address) const;
  /// Whether the whole range lies in one open allocation.
  bool covers(const void* address, std::size_t bytes) const;

  std::size_t used(int device) const;
  int key(int device) const { return keys_[static_cast<std::size_t>(device)]; }

private:
  Memory();
  std::byte* place(int device, std::size_t bytes);

  mutable std::mutex mutex_;
  std::vector<int> keys_;        ///< by device; -1: no keys
  std::vector<std::byte*> next_; ///< by device, and last the host: first unused address
  std::vector<std::size_t> used_;
  std::map<std::uintptr_t, Allocation> allocations_; ///< by address
};

/// Whether operations of a device may access this address: its own memory, host memory, and pools
/// that were opened to it.
bool opened_to(const void* address, int device);
/// Whether a pool may be opened to another device (troupe_emulated_peers).
bool pools_may_open();

} // namespace emulation

/// For tests: sets whether devices can access each other's memory from now on, and whether their
/// pools may be opened. Both are true initially.
extern "C" void troupe_emulated_peers(bool reachable, bool may_open);
/// For tests: returns how often memory of the host was page-locked so far.
extern "C" std::uint64_t troupe_emulated_page_locks();
