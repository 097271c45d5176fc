// The end of a node's part in a job: with the job, or when it leaves the others.
#include "actors/node/node.hpp"

#include <fmt/format.h>

#include <utility>

namespace troupe::actors {

/// Ends this node's part in the job. Requests of people are granted first.
caf::result<void> NodeState::stop(StopReason reason, const JobEnd& end) {
  if (is_request(reason))
    return stops_.stop(reason);
  const bool has_coordinator = roles_ && roles_.leads() && node_.coordinator;
  if (reason == StopReason::told && has_coordinator) { // which reports its own end
    if (!end.for_all) // its MEMBERSHIP ends, and another node leads
      node_.hands_over = end.error.value_or(handed_over());
  } else if (!has_ended()) { // losses after the end do not matter
    end_job(reason, end);
  }
  return caf::unit;
}

void NodeState::end_job(StopReason reason, const JobEnd& end) {
  // If the generation is built, or has been ended already, this node concludes after that.
  const bool concludes = phase_ == NodePhase::training || reason == StopReason::died;
  enter(NodeEvent::end);
  if (reason == StopReason::told)
    note_end(end);
  const auto go_on = [this, end, concludes] {
    if (concludes)
      conclude(end);
  };
  if (!node_.membership || reason == StopReason::told)
    return go_on();
  // This daemon may end once the others know: earlier, they would take its end for a failure.
  node_
      .self
      // Longer than MEMBERSHIP waits for the voters, and then for all nodes.
      ->request(node_.membership, node_.setup.timeouts.rejoin + node_.setup.timeouts.detection,
                atom::finish_v, end)
      .then(go_on, [go_on](const caf::error&) { go_on(); });
}

void NodeState::note_end(const JobEnd& end) {
  end_ = end;
  if (!end.for_all && node_.leads()) // before its generation was built
    node_.hands_over = handed_over();
  if (node_.consensus && !node_.hands_over)
    node_.self->send(node_.consensus, atom::finish_v);
  if (!left_out_.empty()) // it waits to join again, and need not
    node_.setup.stopped();
  if (request_.is_pending()) // MEMBERSHIP may not know of the end, which the voters have decided
    request_.refuse(why_ended());
}

Error NodeState::why_ended() const {
  return end_->error.value_or(
      Error{Errc::stopped, end_->for_all
                               ? fmt::format("the job has ended already: {}", end_->result.status)
                               : "asked to leave the job"});
}

/// Has METRICS write the end of the run, unless COORDINATOR has done so.
void NodeState::conclude(const JobEnd& end) {
  if (ended_)
    return release(ended_);
  const auto& built = roles_.built();
  RunOutcome outcome{.summary = {built.info}, .error = end.error};
  static_cast<metrics::RunResult&>(outcome.summary) = end.result;
  if (end.error)
    outcome.summary.error = end.error->to_string();
  const RunOutcomePtr shared = std::make_shared<const RunOutcome>(std::move(outcome));
  node_.self->request(built.metrics, caf::infinite, atom::finish_v, shared)
      .then([this](const RunOutcomePtr& ended) { release(ended); },
            [this, shared](const caf::error&) { release(shared); });
}

/// Waits until the others have decided which node leads, because they may need this node's vote.
void NodeState::leave_vote(const std::function<void()>& then) {
  node_.self->request(node_.consensus, node_.setup.timeouts.rejoin, atom::leave_v)
      .then(then, [then](const caf::error&) { then(); });
}

/// All roles must have ended before the end of the job is answered.
void NodeState::release(const RunOutcomePtr& outcome) {
  const auto end_roles = [this, outcome] {
    roles_.end_ranks();
    const bool for_all = end_ ? end_->for_all : !node_.hands_over;
    do_blocking([this, outcome, for_all](NodeWork& work) -> FollowUp {
      work.release(for_all);
      return [this, outcome] { deliver(outcome); };
    });
  };
  if (!outcome->error)
    return end_roles();
  cancel_connecting(roles_.number(), *outcome->error);
  roles_.abort(*outcome->error, end_roles);
}

void NodeState::deliver(const RunOutcomePtr& outcome) {
  enter(NodeEvent::release);
  outcome_.deliver(outcome);
}

void NodeState::end_all() {
  if (node_.setup.data_plane)
    node_.setup.data_plane->end_probes();
  roles_.end_all();
  // Drops the generation after this, so that its last owner is not NODE.
  if (work_)
    node_.setup.run_blocking([work = std::exchange(work_, nullptr)]() mutable { work.reset(); });
}

} // namespace troupe::actors
