#include "actors/node/assignment_request.hpp"

#include "core/units.hpp"

#include <fmt/format.h>

namespace troupe::actors {

caf::result<training::NodeAssignment> AssignmentRequest::send(NodeInfo info) {
  auto* const self = node_.self;
  promise_ = self->make_response_promise<training::NodeAssignment>();
  const std::chrono::milliseconds limit{info.time_left_ms};
  wait_ =
      node_.setup.waits->begin(fmt::format("waiting to be admitted to the job of {}", node_.leader),
                               limit, self->clock().now());
  const auto request = info.attempt = ++requests_;
  self->request(node_.membership, caf::infinite, atom::join_v, std::move(info), node_.member())
      .then(
          [this, request](const training::NodeAssignment& assignment) {
            if (is_current(request))
              deliver(assignment);
          },
          [this, request](const caf::error& error) {
            // If MEMBERSHIP has ended, NODE is told why right after this.
            if (!is_current(request) || error == caf::sec::broken_promise)
              return;
            wait_.reset();
            promise_.deliver(error);
          });
  look_after(request);
  if (limit.count() > 0) // MEMBERSHIP, which knows what is missing, refuses it before
    self->run_delayed(limit + node_.setup.timeouts.detection,
                      [this, request] { give_up(request); });
  return promise_;
}

void AssignmentRequest::deliver(const training::NodeAssignment& assignment) {
  wait_.reset();
  taken_(assignment);
  promise_.deliver(assignment);
}

/// Polls MEMBERSHIP. Its connection is watched too, but a handle that another node has sent may
/// belong to a process without a connection.
void AssignmentRequest::look_after(std::int64_t request) {
  const auto& timeouts = node_.setup.timeouts;
  node_.self->run_delayed(timeouts.detection, [this, request, rejoin = timeouts.rejoin] {
    if (!is_current(request))
      return;
    node_.self->request(node_.membership, rejoin, atom::status_v, node_.member())
        .then(
            [this, request](const WaitStatus& told) {
              if (!is_current(request))
                return;
              note(told);
              look_after(request);
            },
            [this, request, rejoin](const caf::error& error) {
              if (is_current(request) && error == caf::sec::request_timeout)
                lost_(Error{Errc::network,
                            fmt::format("node {}, which leads the job, has not answered within {}",
                                        node_.leader, format_duration(rejoin)),
                            {.node = node_.leader},
                            Whose::there});
            });
  });
}

void AssignmentRequest::say_why_spare() {
  node_.self
      ->request(node_.membership, node_.setup.timeouts.detection, atom::status_v, node_.member())
      .then(
          [this](WaitStatus& told) {
            if (is_pending() && told.what != said_spare_)
              node_.setup.say(said_spare_ = std::move(told.what));
          },
          [](const caf::error&) {}); // its loss is noticed otherwise
}

void AssignmentRequest::note(const WaitStatus& told) {
  const auto now = node_.self->clock().now();
  wait_->take(told, now);
  if (const auto line = wait_->due(now); !line.empty())
    node_.setup.say(line);
}

void AssignmentRequest::complete(WaitStatus& told) {
  if (!wait_)
    return;
  const auto now = node_.self->clock().now();
  wait_->take(told, now);
  told = wait_->status(now);
}

/// Gives up waiting, except as a spare, which waits as long as the job lasts.
void AssignmentRequest::give_up(std::int64_t request) {
  if (!is_current(request) || !wait_->has_limit())
    return;
  Error error{Errc::network,
              fmt::format("not admitted to the job of {}: {}", node_.leader, wait_->status().what),
              {.node = node_.leader},
              Whose::there};
  node_.self->send(node_.membership, atom::stop_v, node_.member(), StopReason::withdrawn);
  refuse(std::move(error));
}

} // namespace troupe::actors
