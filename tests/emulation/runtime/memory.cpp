#include "tests/emulation/runtime/memory.hpp"

#include "tests/emulation/runtime/error.hpp"
#include "tests/emulation/runtime/recording.hpp"
#include "tests/emulation/runtime/settings.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include <sys/mman.h>

namespace emulation {

namespace {

constexpr std::size_t page = 4096, alignment = 256;
/// Addresses of a device; they are not reused.
constexpr std::size_t address_space = std::size_t{4} << 40;
/// Largest part of an allocation that the emulation fills with a pattern.
constexpr std::size_t most_filled = std::size_t{4} << 20;
constexpr int fill = 0xff;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (std::max<std::size_t>(bytes, 1) + unit - 1) / unit * unit;
}

/// The pages of an allocation.
struct Pages {
  std::byte* begin;
  std::size_t bytes;
  explicit Pages(const Allocation& allocation)
      : begin{allocation.data + round_up(allocation.bytes, alignment) -
              round_up(allocation.bytes, page)},
        bytes{round_up(allocation.bytes, page)} {}
};

std::byte* reserve_addresses() {
  auto* const begin =
      mmap(nullptr, address_space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED)
    throw std::bad_alloc{};
  return static_cast<std::byte*>(begin);
}

} // namespace

DeviceAccess::DeviceAccess(int device) : key_{Memory::instance().key(device)} {
  if (key_ < 0)
    return;
  former_ = pkey_get(key_);
  pkey_set(key_, 0);
}

DeviceAccess::~DeviceAccess() {
  if (key_ >= 0)
    pkey_set(key_, static_cast<unsigned>(former_));
}

Memory& Memory::instance() {
  static auto* const memory = new Memory; // device threads use it until the process ends
  return *memory;
}

Memory::Memory() : used_(static_cast<std::size_t>(settings().devices) + 1) {
  for (int device = 0; device < settings().devices; ++device)
    keys_.push_back(pkey_alloc(0, PKEY_DISABLE_ACCESS));
  for (std::size_t i = 0; i < used_.size(); ++i)
    next_.push_back(reserve_addresses());
}

std::byte* Memory::place(int device, std::size_t bytes) {
  auto& next = device == Allocation::host ? next_.back() : next_[static_cast<std::size_t>(device)];
  auto* const data = next + round_up(bytes, page) - round_up(bytes, alignment);
  next += round_up(bytes, page) + page;
  return data;
}

std::byte* Memory::reserve(int device, std::size_t bytes) {
  const std::lock_guard lock{mutex_};
  if (bytes > memory_of_device())
    return nullptr;
  if (device != Allocation::host) {
    auto& used = used_[static_cast<std::size_t>(device)];
    if (used + bytes > memory_of_device())
      return nullptr;
    used += bytes;
  }
  auto* const data = place(device, bytes);
  allocations_[reinterpret_cast<std::uintptr_t>(data)] = {device, data, bytes};
  return data;
}

void Memory::open(std::byte* data) {
  const std::lock_guard lock{mutex_};
  auto& allocation = allocations_.at(reinterpret_cast<std::uintptr_t>(data));
  const Pages pages{allocation};
  allocation.open = true;
  if (allocation.device == Allocation::host) {
    mprotect(pages.begin, pages.bytes, PROT_READ | PROT_WRITE);
    return;
  }
  const int key = this->key(allocation.device);
  if (key >= 0)
    pkey_mprotect(pages.begin, pages.bytes, PROT_READ | PROT_WRITE, key);
  else
    mprotect(pages.begin, pages.bytes, PROT_READ | PROT_WRITE);
  const DeviceAccess access{allocation.device};
  std::memset(data, fill, std::min(allocation.bytes, most_filled));
  std::memset(data + allocation.bytes, fill,
              round_up(allocation.bytes, alignment) - allocation.bytes);
}

void Memory::close(std::byte* data) {
  const std::lock_guard lock{mutex_};
  const auto found = allocations_.find(reinterpret_cast<std::uintptr_t>(data));
  const auto allocation = found->second;
  allocations_.erase(found);
  const Pages pages{allocation};
  if (allocation.device != Allocation::host) {
    const DeviceAccess access{allocation.device};
    used_[static_cast<std::size_t>(allocation.device)] -= allocation.bytes;
    const auto* const end = data + round_up(allocation.bytes, alignment);
    if (!std::all_of(static_cast<const std::byte*>(data) + allocation.bytes, end,
                     [](std::byte value) { return value == std::byte{fill}; }))
      fail_forever(cudaErrorIllegalAddress, "something wrote behind the end of an allocation");
  }
  madvise(pages.begin, pages.bytes, MADV_DONTNEED);
  mprotect(pages.begin, pages.bytes, PROT_NONE);
}

std::optional<Allocation> Memory::find(const void* address) const {
  const std::lock_guard lock{mutex_};
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  auto next = allocations_.upper_bound(at);
  if (next == allocations_.begin())
    return std::nullopt;
  const auto& allocation = std::prev(next)->second;
  if (at - std::prev(next)->first >= std::max<std::size_t>(allocation.bytes, 1))
    return std::nullopt;
  return allocation;
}

bool Memory::covers(const void* address, std::size_t bytes) const {
  const auto found = find(address);
  return found && static_cast<const std::byte*>(address) + bytes <= found->data + found->bytes;
}

std::size_t Memory::used(int device) const {
  const std::lock_guard lock{mutex_};
  return used_[static_cast<std::size_t>(device)];
}

} // namespace emulation
