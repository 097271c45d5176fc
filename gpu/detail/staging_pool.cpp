#include "staging_pool.hpp"

#include "troupe/core/fail.hpp"

#include <algorithm>
#include <bit>

namespace troupe::gpu {

namespace {

constexpr std::size_t smallest = 4096;

} // namespace

Result<BufferPtr> StagingPool::take(std::size_t bytes) {
  // Sizes are powers of two, so that what one copy leaves fits the next.
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
