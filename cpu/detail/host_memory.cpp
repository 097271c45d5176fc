#include "cpu/detail/host_memory.hpp"

#include "core/device/memory_advice.hpp"
#include "core/fail.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace troupe::cpu {

namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

tl::unexpected<Error> no_room(std::size_t bytes, MemoryKind kind) {
  return fail(Errc::out_of_memory, "the host cannot allocate {} of {}; try {}",
              describe_bytes(bytes), to_string(kind), settings_that_help(kind));
}

std::byte* first_huge_page(void* mapping) {
  const auto address = reinterpret_cast<std::uintptr_t>(mapping);
  return static_cast<std::byte*>(mapping) + (round_up(address, huge_page) - address);
}

} // namespace

Result<BufferPtr> allocate_host(std::size_t bytes, MemoryKind kind,
                                std::shared_ptr<MemoryAccount> account) {
  if (bytes < 2 * huge_page) {
    const auto rounded = round_up(std::max<std::size_t>(bytes, 1), alignment);
    void* const memory = std::aligned_alloc(alignment, rounded);
    if (!memory)
      return no_room(bytes, kind);
    std::memset(memory, 0, rounded);
    return std::make_shared<CountedBuffer>(memory, bytes, kind, std::move(account),
                                           [memory] { std::free(memory); });
  }
  // Whole huge pages, so that a step's big arena costs few page faults and few TLB misses.
  const auto mapped = round_up(bytes, huge_page) + huge_page;
  if (mapped < bytes)
    return no_room(bytes, kind);
  void* const mapping =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    return no_room(bytes, kind);
  madvise(mapping, mapped, MADV_HUGEPAGE);
  return std::make_shared<CountedBuffer>(first_huge_page(mapping), bytes, kind, std::move(account),
                                         [mapping, mapped] { munmap(mapping, mapped); });
}

BufferPtr count_host(std::size_t bytes, MemoryKind kind, std::shared_ptr<MemoryAccount> account) {
  // An address in the first page, which is never mapped, so that access faults. Offsets of null
  // would be undefined.
  auto* const nowhere = reinterpret_cast<std::byte*>(std::uintptr_t{alignment});
  return std::make_shared<CountedBuffer>(nowhere, bytes, kind, std::move(account));
}

} // namespace troupe::cpu
