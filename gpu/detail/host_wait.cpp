#include "gpu/detail/host_wait.hpp"

namespace troupe::gpu {

void HostWait::add(std::shared_ptr<StreamState> stream, std::uint32_t number) {
  const std::lock_guard lock{mutex_};
  if (!outcome_)
    behind_.emplace_back(std::move(stream), number);
  else if (!*outcome_)
    stream->fail_behind(number, *outcome_);
}

void HostWait::end(const Status& outcome) {
  const std::lock_guard lock{mutex_};
  outcome_ = outcome;
  if (!outcome)
    for (const auto& [stream, number] : behind_)
      stream->fail_behind(number, outcome);
  ended_well_ = outcome.has_value();
}

std::optional<Status> HostWait::outcome() const {
  const std::lock_guard lock{mutex_};
  return outcome_;
}

} // namespace troupe::gpu
