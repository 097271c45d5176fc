#include "gpu/detail/stream_state.hpp"

#include "core/fail.hpp"
#include "gpu/device_context.hpp"

#include <utility>

namespace troupe::gpu {

StreamState::StreamState(std::shared_ptr<DeviceContext> context) : context_{std::move(context)} {
  status_ = take_word();
}

StreamState::~StreamState() {
  if (word_)
    context_->flags().give_back(word_);
}

Status StreamState::take_word() {
  TROUPE_TRY(word_, context_->flags().take());
  TROUPE_TRY(on_device_, context_->flags().address_on_device(word_));
  return {};
}

void StreamState::note(Status outcome) {
  const std::lock_guard lock{mutex_};
  if (status_ && !outcome)
    status_ = std::move(outcome);
}

Status StreamState::current() const {
  const std::lock_guard lock{mutex_};
  return status_;
}

void StreamState::fail_behind(std::uint32_t wait, const Status& outcome) {
  const std::lock_guard lock{mutex_};
  if (status_)
    status_ = outcome;
  if (!word_)
    return;
  const std::atomic_ref word{*word_};
  if (const auto first = word.load(); first == 0 || wait < first)
    word.store(wait, std::memory_order_release);
}

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
