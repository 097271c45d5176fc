#include "gpu/detail/staging_pool.hpp"

#include "core/fail.hpp"

#include <algorithm>
#include <bit>

namespace troupe::gpu {

namespace {

constexpr std::size_t smallest = 4096, largest = std::size_t{16} << 20;
/// Several small copies may be in flight at a time.
constexpr std::size_t bytes_of_small = std::size_t{64} << 10;

} // namespace

Status StagingPool::fill() {
  for (auto size = smallest; size <= largest; size *= 2)
    for (std::size_t made = 0; made < std::max(size, bytes_of_small); made += size) {
      TROUPE_TRY(auto buffer, memory_->allocate_pinned(size));
      const std::lock_guard lock{mutex_};
      free_.emplace(size, std::move(buffer));
    }
  return {};
}

Result<BufferPtr> StagingPool::take(std::size_t bytes) {
  // Sizes are powers of two, so that later copies can reuse a buffer.
  const auto size = std::bit_ceil(std::max(bytes, smallest));
  BufferPtr buffer;
  {
    const std::lock_guard lock{mutex_};
    if (const auto found = free_.find(size); found != free_.end()) {
      buffer = std::move(found->second);
      free_.erase(found);
    }
  }
  if (!buffer) {
    TROUPE_TRY(buffer, memory_->allocate_pinned(size));
  }
  auto* const raw = buffer.get();
  return BufferPtr{raw, [pool = weak_from_this(), size, buffer](Buffer*) {
                     if (const auto alive = pool.lock()) {
                       const std::lock_guard lock{alive->mutex_};
                       alive->free_.emplace(size, buffer);
                     }
                   }};
}

} // namespace troupe::gpu
