// The wait of a node for its assignment in a job, and the reports of its waits.
#include "actors/caf_error.hpp"
#include "actors/node/node.hpp"
#include "core/units.hpp"

#include <fmt/format.h>

namespace troupe::actors {

namespace {

/// Returns the answer of a daemon whose job has ended. After a failure, or if the job continues
/// without this node, the asking node may find it elsewhere.
Error no_job_after(const JobEnd& end) {
  const bool is_done = end.for_all && end.result.status != "failed";
  if (is_done)
    return {Errc::stopped, fmt::format("the job has ended already: {}", end.result.status)};
  return {Errc::network,
          end.for_all ? "its job has failed, and it is shutting down"
                      : "it has left its job, and is shutting down",
          /*where=*/{}, Whose::there};
}

} // namespace

/// The leader's MEMBERSHIP reports the end of the job itself. Another node's handle may be of an
/// actor that is lost.
caf::result<membership_actor, std::string> NodeState::membership() const {
  if (end_)
    return to_caf_error(no_job_after(*end_));
  if (membership_)
    return {membership_, leader_};
  return to_caf_error({Errc::network, "it is still looking for a job itself", {}, Whose::there});
}

/// Returns the node that should begin a job (empty: this one takes part in one), and whether its
/// job has ended. With a single address in cluster.join this node never begins one, and agrees with
/// any asking node.
caf::result<std::string, bool> NodeState::begins(const std::string& requester) const {
  if (membership_ && !end_ && leader_ != requester)
    return {std::string{}, false};
  const auto& join = setup_.join;
  const auto begins = join.empty()       ? identity_.address
                      : join.size() == 1 ? requester
                                         : join.front();
  return {begins, end_.has_value()};
}

caf::result<training::NodeAssignment>
NodeState::take_part(const membership_actor& membership, std::string leader, const NodeInfo& info) {
  if (!membership)
    return no_handle();
  if (membership_ != membership)
    lost_.watch(membership);
  membership_ = membership;
  leader_ = std::move(leader);
  assignment_of_ = 0;
  left_out_.clear();
  assignment_ = self_->make_response_promise<training::NodeAssignment>();
  if (end_) { // it was told the end while it halted
    assignment_.deliver(training::NodeAssignment{.refused = why_ended()});
    return assignment_;
  }
  const std::chrono::milliseconds limit{info.time_left_ms};
  assignment_wait_ = setup_.waits->begin(
      fmt::format("waiting to be admitted to the job of {}", leader_), limit, self_->clock().now());
  auto attempt = info;
  attempt.attempt = ++attempts_;
  self_->request(membership_, caf::infinite, atom::join_v, attempt, member_actor{node_actor{self_}})
      .then(
          [this, request = ++assignment_requests_](const training::NodeAssignment& assignment) {
            if (!waits_for_assignment(request))
              return;
            take_assignment(assignment);
            assignment_.deliver(assignment);
          },
          [this, request = assignment_requests_](const caf::error& error) {
            if (!waits_for_assignment(request))
              return;
            assignment_wait_.reset();
            assignment_.deliver(error);
          });
  repeat_request();
  look_after(assignment_requests_);
  if (limit.count() > 0) // MEMBERSHIP, which knows what is missing, refuses it before
    self_->run_delayed(limit + setup_.timeouts.detection,
                       [this, request = assignment_requests_] { give_up_assignment(request); });
  return assignment_;
}

bool NodeState::waits_for_assignment(std::int64_t request) const {
  return request == assignment_requests_ && assignment_.pending();
}

/// Polls MEMBERSHIP. Its connection is watched too, but a handle that another node has sent may
/// belong to a process without a connection.
void NodeState::look_after(std::int64_t request) {
  self_->run_delayed(setup_.timeouts.detection, [this, request] {
    if (!waits_for_assignment(request))
      return;
    self_
        ->request(membership_, setup_.timeouts.rejoin, atom::status_v,
                  member_actor{node_actor{self_}})
        .then(
            [this, request](const WaitStatus& told) {
              if (!waits_for_assignment(request))
                return;
              note_wait(told);
              look_after(request);
            },
            [this, request](const caf::error& error) {
              if (waits_for_assignment(request) && error == caf::sec::request_timeout)
                lost_leader(Error{Errc::network,
                                  fmt::format("node {}, which leads the job, has not answered "
                                              "within {}",
                                              leader_, format_duration(setup_.timeouts.rejoin)),
                                  {.node = leader_},
                                  Whose::there});
            });
  });
}

/// Logs why this node is a spare, once for each reason.
void NodeState::say_why_spare() {
  self_
      ->request(membership_, setup_.timeouts.detection, atom::status_v,
                member_actor{node_actor{self_}})
      .then(
          [this](WaitStatus& told) {
            if (assignment_.pending() && told.what != said_spare_)
              setup_.say(said_spare_ = std::move(told.what));
          },
          [](const caf::error&) {}); // its loss is noticed otherwise
}

void NodeState::note_wait(const WaitStatus& told) {
  const auto now = self_->clock().now();
  assignment_wait_->take(told, now);
  if (const auto line = assignment_wait_->due(now); !line.empty())
    setup_.say(line);
}

/// Gives up waiting, except as a spare, which waits as long as the job lasts.
void NodeState::give_up_assignment(std::int64_t request) {
  if (!waits_for_assignment(request) || !assignment_wait_->has_limit())
    return;
  Error error{
      Errc::network,
      fmt::format("not admitted to the job of {}: {}", leader_, assignment_wait_->status().what),
      {.node = leader_},
      Whose::there};
  self_->send(membership_, atom::abort_v, member_actor{node_actor{self_}});
  leave();
  assignment_.deliver(training::NodeAssignment{.refused = std::move(error)});
}

void NodeState::take_assignment(const training::NodeAssignment& assignment) {
  assignment_wait_.reset();
  if (assignment.refused) {
    if (assignment.left_out)
      note_left_out(assignment.refused->message);
    return leave();
  }
  const auto& record = assignment.generation;
  assignment_of_ = known_ = record.number;
  voters_ = record.voters.size();
  if (setup_.data_plane) // now, so that it can be cancelled
    setup_.data_plane->join_group(record.number, record.secret);
  if (consensus_)
    self_->send(consensus_, atom::decided_v, record);
}

/// Stops watching that MEMBERSHIP: this node may request another assignment.
void NodeState::leave() {
  if (membership_)
    self_->demonitor(membership_);
  membership_ = nullptr;
  assignment_wait_.reset();
}

JobStatus NodeState::status_of_end() const {
  return {.name = setup_.run,
          .phase = "ended",
          .generation = known_,
          .loss = end_->result.loss,
          .samples_per_second = end_->result.samples_per_second,
          .error = end_->error ? end_->error->message : "",
          .wait = shown_wait()};
}

JobStatus NodeState::status_of_wait(WaitStatus wait) const {
  JobStatus status{.name = setup_.run, .phase = wait.what.empty() ? "starting" : wait.what};
  status.wait = std::move(wait);
  return status;
}

/// Answers after the end of the job, when the leader's COORDINATOR may be gone, from the end
/// itself.
caf::result<JobStatus> NodeState::status() {
  if (end_)
    return status_of_end();
  if (!left_out_.empty())
    return status_of_wait({left_out_});
  if (coordinator_ && !ended_)
    return self_->delegate(coordinator_, atom::status_v);
  auto promise = self_->make_response_promise<JobStatus>();
  if (coordinator_)
    self_->request(coordinator_, setup_.timeouts.detection, atom::status_v)
        .then(
            [this, promise](JobStatus& status) mutable {
              status.wait = shown_wait();
              promise.deliver(std::move(status));
            },
            [promise](const caf::error& error) mutable { promise.deliver(error); });
  else if (membership_)
    ask_membership(promise);
  else
    ask_consensus(promise);
  return promise;
}

/// If MEMBERSHIP does not answer, the status contains what this node knows itself.
void NodeState::ask_membership(caf::typed_response_promise<JobStatus> promise) {
  self_
      ->request(membership_, setup_.timeouts.detection, atom::status_v,
                member_actor{node_actor{self_}})
      .then(
          [this, promise](WaitStatus& told) mutable {
            if (told.what.empty())
              return ask_consensus(promise);
            if (assignment_wait_) { // it knows since when a spare waits
              assignment_wait_->take(told, self_->clock().now());
              told = assignment_wait_->status(self_->clock().now());
            }
            promise.deliver(status_of_wait(std::move(told)));
          },
          [this, promise](const caf::error&) mutable { ask_consensus(promise); });
}

void NodeState::ask_consensus(caf::typed_response_promise<JobStatus> promise) {
  auto wait = shown_wait();
  if (!consensus_)
    return promise.deliver(status_of_wait(std::move(wait)));
  self_->request(consensus_, setup_.timeouts.detection, atom::status_v)
      .then(
          [this, promise, wait](std::string& waiting) mutable {
            if (!waiting.empty())
              wait.what = std::move(waiting);
            promise.deliver(status_of_wait(std::move(wait)));
          },
          [promise](const caf::error& error) mutable { promise.deliver(error); });
}

} // namespace troupe::actors
