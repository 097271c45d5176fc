#include "actors/node/stop_requests.hpp"

namespace troupe::actors {

caf::result<void> StopRequests::stop(StopReason reason) {
  if (reason == StopReason::node)
    return leave();
  if (reason == StopReason::job)
    stop_job();
  else if (reason == StopReason::signal)
    end();
  return caf::unit;
}

void StopRequests::stop_job() {
  stops_job_ = true;
  if (node_.membership)
    node_.self->send(node_.membership, atom::stop_v, node_.member(), StopReason::job);
  else if (node_.coordinator)
    node_.self->send(node_.coordinator, atom::stop_v, asked_to_stop());
  node_.setup.stopped();
}

/// If the request of a follower fails, MEMBERSHIP is lost, and the node ends anyway.
void StopRequests::end() {
  leaves_ = true;
  const bool leads = node_.leads();
  if (!node_.membership)
    return leave_next();
  if (node_.setup.ends_for_all && leads)
    return stop_job();
  if (leads && asked_ == node_.membership.address())
    return; // it answers when it can hand over
  asked_ = node_.membership.address();
  ask_to_leave(StopReason::signal, [this](const caf::error& refused) {
    if (refused && node_.leads())
      stop_job();
  });
  if (!leads)
    node_.setup.stopped();
}

void StopRequests::repeat() {
  if (leaves_)
    end();
  else if (stops_job_ && !node_.leads()) // else it stops the job when it trains
    node_.self->send(node_.membership, atom::stop_v, node_.member(), StopReason::job);
}

/// Between two leaders: leaves the next one.
void StopRequests::leave_next() {
  if (!node_.consensus)
    return stop_job();
  leaves_ = true;
  node_.setup.stopped();
}

caf::result<void> StopRequests::leave() {
  if (!node_.membership) {
    leave_next();
    return caf::unit;
  }
  auto promise = node_.self->make_response_promise<void>();
  ask_to_leave(StopReason::node, [promise](const caf::error& refused) mutable {
    refused ? promise.deliver(refused) : promise.deliver();
  });
  return promise;
}

void StopRequests::ask_to_leave(StopReason reason,
                                const std::function<void(const caf::error&)>& answered) {
  node_.self->request(node_.membership, caf::infinite, atom::stop_v, node_.member(), reason)
      .then(
          [this, answered, led = node_.leads()] {
            if (led && !node_.hands_over)
              node_.hands_over = handed_over();
            node_.setup.stopped();
            answered({});
          },
          answered);
}

} // namespace troupe::actors
