#include "gpu/detail/stream_mark.hpp"

#include "gpu/device_context.hpp"

#include <utility>

namespace troupe::gpu {

StreamMark::StreamMark(std::shared_ptr<DeviceContext> context, std::uint32_t* word)
    : context_{std::move(context)}, word_{word} {}

StreamMark::~StreamMark() {
  context_->flags().give_back(word_);
}

std::optional<Status> StreamMark::poll() const {
  if (WaitFlags::is_raised(word_))
    return Status{};
  const std::lock_guard lock{mutex_};
  return failure_;
}

void StreamMark::fail(const Status& why) {
  const std::lock_guard lock{mutex_};
  failure_ = why;
}

std::optional<std::chrono::nanoseconds> StreamMark::age() {
  const auto now = std::chrono::steady_clock::now();
  if (!seen_ && poll())
    seen_ = now;
  return seen_ ? std::optional{now - *seen_} : std::nullopt;
}

} // namespace troupe::gpu
