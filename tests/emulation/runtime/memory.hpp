/// The memory of the emulated devices, and page-locked memory of the host.
///
/// A device's memory carries a protection key: only threads that run its operations may touch it,
/// so that host code which follows a device pointer ends with a segmentation fault, as does a
/// kernel that follows one of another device (where the processor has no keys, none of this is
/// seen). An allocation ends where its last page does, with a page that nobody may touch behind it;
/// what was freed is not used again, and nobody may touch it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace emulation {

/// Lets the calling thread touch a device's memory. What could be touched before stays so.
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
  bool open = false; ///< may be touched
};

/// Thread-safe.
class Memory {
public:
  static Memory& instance();

  /// A place for `bytes` bytes that open() lets be touched; null when the device is full.
  std::byte* reserve(int device, std::size_t bytes);
  /// Device memory is filled with ones: not a number, whatever its type.
  void open(std::byte* data);
  /// Nobody touches it any more. What was written behind its end is a standing error.
  void close(std::byte* data);
  /// open() and close() know addresses that reserve() gave; these do not ask.
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
  std::vector<std::byte*> next_; ///< by device, and last the host: where nothing was placed yet
  std::vector<std::size_t> used_;
  std::map<std::uintptr_t, Allocation> allocations_; ///< by address
};

/// Whether operations of a device may touch the memory at this address: its own, the host's, and
/// what lies in a pool that was opened to it.
bool opened_to(const void* address, int device);
/// Whether a pool may be opened to another device (troupe_emulated_peers).
bool pools_may_open();

} // namespace emulation

/// For tests: whether devices reach each other's memory from now on, and whether their pools may
/// be opened. Both are true at first.
extern "C" void troupe_emulated_peers(bool reachable, bool may_open);
