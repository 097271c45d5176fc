// Waits of a stream for events and for the host.
#include "core/fail.hpp"
#include "gpu/cuda_stream.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe::gpu {

namespace {

/// A wait for the host that has not ended.
struct OutstandingWait {
  std::shared_ptr<DeviceContext> context;
  std::shared_ptr<StreamState> state;
  std::shared_ptr<HostWait> wait;
  std::uint32_t* flag;
  Poller::Check poll;

  std::optional<Status> look() const {
    if (state->ending)
      return fail(Errc::stopped, "the stream ended while it waited for the host");
    return poll();
  }
};

/// Runs on the thread that never calls CUDA. Destroying the wait's members may call CUDA, so the
/// other thread does it.
void end_wait(std::shared_ptr<OutstandingWait> ended, const Status& outcome) {
  ended->wait->end(outcome); // before the stream continues
  WaitFlags::raise(ended->flag);
  auto& poller = ended->context->poller();
  poller.add(
      poller.new_lane(), [] { return std::optional{Status{}}; },
      [ended = std::move(ended)](const Status&) {});
}

} // namespace

std::shared_ptr<StreamMark> CudaStream::mark() {
  std::shared_ptr<StreamMark> made;
  std::shared_ptr<CudaEvent> passed;
  enqueue("marking a point for the host", [&](cudaStream_t stream) -> Status {
    TROUPE_TRY(auto event, context_->events().take(false));
    TROUPE_TRY(auto* const word, context_->flags().take());
    made = std::make_shared<StreamMark>(context_, word);
    TROUPE_TRY(context_->flags().enqueue_raise(stream, word));
    const auto code = cudaEventRecord(event.get(), stream);
    passed = std::make_shared<CudaEvent>(context_, std::move(event), Status{}, waits_);
    return cuda_status(code, "recording an event", device());
  });
  if (!passed)
    return nullptr;
  // Keeps the word until the stream has written it, and reports a device failure before that.
  context_->poller().add(
      lane_,
      [passed, made, state = state_]() -> std::optional<Status> {
        auto outcome = passed->poll();
        if (outcome && !*outcome) {
          state->note(*outcome);
          made->fail(*outcome);
        }
        return outcome;
      },
      [](const Status&) {});
  return made;
}

void CudaStream::wait(EventPtr event) {
  if (failed())
    return;
  const auto cuda_event = std::dynamic_pointer_cast<CudaEvent>(event);
  if (!cuda_event) {
    if (event->ready())
      return note(event->status());
    return wait_for(until_ready(std::move(event)));
  }
  note(cuda_event->recorded_status());
  stand_behind(cuda_event->waits());
  enqueue("waiting for an event", [&](cudaStream_t stream) {
    if (cuda_event->handle())
      cudaStreamWaitEvent(stream, cuda_event->handle(), 0);
  });
}

Poller::Check CudaStream::until_ready(EventPtr event) {
  auto came = host_limit_.count() > 0 && !capturing() ? mark() : nullptr;
  return [event = std::move(event), came = std::move(came),
          limit = host_limit_]() -> std::optional<Status> {
    if (event->ready())
      return event->status();
    const auto waited = came ? came->age() : std::nullopt;
    if (waited && *waited > limit)
      return fail(Errc::device,
                  "the host did not signal within {} ms: its thread may be blocked in the driver",
                  limit.count());
    return std::nullopt;
  };
}

void CudaStream::wait_for(Poller::Check poll) {
  if (failed())
    return;
  if (capturing())
    return note(fail(Errc::internal, "a CUDA graph cannot wait for an event of another device"));
  auto taken = context_->flags().take();
  if (!taken)
    return note(failure(std::move(taken).error()));
  auto* const flag = *taken;
  auto forbidden = context_->peers().idle_calls->forbid();
  // Not record(): it fails if an earlier wait fails meanwhile, but the stream still polls the flag.
  std::shared_ptr<CudaEvent> passed;
  enqueue("waiting for the host", [&](cudaStream_t stream) -> Status {
    TROUPE_TRY(auto event, context_->events().take(false));
    TROUPE_TRY(context_->flags().enqueue_wait(stream, flag));
    const auto code = cudaEventRecord(event.get(), stream);
    passed = std::make_shared<CudaEvent>(context_, std::move(event), Status{}, waits_);
    return cuda_status(code, "recording an event", device());
  });
  if (!passed)
    return context_->flags().give_back(flag); // no stream polls it
  const auto wait = std::make_shared<HostWait>();
  stand_behind(std::make_shared<HostWaits::element_type>(1, wait));
  auto outstanding = std::make_shared<OutstandingWait>(
      OutstandingWait{context_, state_, wait, flag, std::move(poll)});
  auto& waits = context_->waits();
  const auto* const looked_at = outstanding.get();
  waits.add(
      waits.new_lane(), [looked_at] { return looked_at->look(); },
      [outstanding = std::move(outstanding)](const Status& outcome) mutable {
        end_wait(std::move(outstanding), outcome);
      });
  context_->poller().add(
      lane_, [passed] { return passed->poll(); },
      [context = context_, flag, forbidden = std::move(forbidden)](const Status&) {
        context->flags().give_back(flag);
      });
}

/// Makes later operations depend on `waits`, too. Drops known waits that ended without error.
void CudaStream::stand_behind(const HostWaits& waits) {
  std::vector<std::shared_ptr<HostWait>> all;
  std::ranges::remove_copy_if(*waits_, std::back_inserter(all), &HostWait::ended_well);
  const auto known = all.size();
  for (const auto& wait : *waits)
    if (std::ranges::find(all, wait) == all.end())
      all.push_back(wait);
  if (all.size() == known)
    return;
  ++last_wait_;
  for (auto wait = all.begin() + static_cast<std::ptrdiff_t>(known); wait != all.end(); ++wait)
    (*wait)->add(state_, last_wait_);
  waits_ = std::make_shared<HostWaits::element_type>(std::move(all));
}

} // namespace troupe::gpu
