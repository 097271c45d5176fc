// The end of a node's part in a job: with the job, or when it leaves the others.
#include "actors/node/node.hpp"

#include <fmt/format.h>

#include <utility>

namespace troupe::actors {

void NodeState::ended(const RunOutcomePtr& outcome) {
  ended_ = outcome;
  // If the generation has been ended already, the end of its roles releases it.
  const bool concludes = phase_ != NodePhase::recovering;
  enter(NodeEvent::end);
  if (!node_.membership)
    return conclude(outcome);
  // This daemon may end once the others know: earlier, they would take its end for a failure.
  const auto answer = [this, outcome, concludes] {
    if (concludes)
      conclude(outcome);
  };
  node_
      .self
      // Longer than MEMBERSHIP waits for the voters, and then for all nodes.
      ->request(node_.membership, node_.setup.timeouts.rejoin + node_.setup.timeouts.detection,
                atom::finish_v, JobEnd{.result = outcome->summary, .error = outcome->error})
      .then(answer, [answer](const caf::error&) { answer(); });
}

void NodeState::finish(const JobEnd& end) {
  if (roles_ && roles_.leads() && node_.coordinator) {
    if (!end.for_all) // its MEMBERSHIP ends, and another node leads
      node_.hands_over = end.error.value_or(handed_over());
    return; // COORDINATOR reports its own end
  }
  if (end_)
    return; // losses after the end do not matter
  end_ = end;
  const bool trained = phase_ == NodePhase::training;
  enter(NodeEvent::end);
  if (!end.for_all && node_.leads()) // before its generation was built
    node_.hands_over = handed_over();
  if (node_.consensus && !node_.hands_over)
    node_.self->send(node_.consensus, atom::finish_v);
  if (!left_out_.empty()) // it waits to join again, and need not
    node_.setup.stopped();
  if (request_.is_pending()) // MEMBERSHIP may not know of the end, which the voters have decided
    request_.refuse(why_ended());
  if (trained)
    tell_outcome(end);
}

Error NodeState::why_ended() const {
  return end_->error.value_or(
      Error{Errc::stopped, end_->for_all
                               ? fmt::format("the job has ended already: {}", end_->result.status)
                               : "asked to leave the job"});
}

void NodeState::tell_outcome(const JobEnd& end) {
  const auto& built = roles_.built();
  RunOutcome outcome{.summary = {built.info}, .error = end.error};
  static_cast<metrics::RunResult&>(outcome.summary) = end.result;
  if (end.error)
    outcome.summary.error = end.error->to_string();
  const RunOutcomePtr shared = std::make_shared<const RunOutcome>(std::move(outcome));
  const auto answer = [this](const RunOutcomePtr& ended) { conclude(ended); };
  node_.self->request(built.metrics, caf::infinite, atom::finish_v, shared)
      .then(answer, [answer, shared](const caf::error&) { answer(shared); });
}

/// Waits until the others have decided which node leads, because they may need this node's vote.
void NodeState::leave_vote(const std::function<void()>& then) {
  node_.self->request(node_.consensus, node_.setup.timeouts.rejoin, atom::leave_v)
      .then(then, [then](const caf::error&) { then(); });
}

/// Leaves a generation at the end of the job.
void NodeState::conclude(const RunOutcomePtr& outcome) {
  if (!outcome->error)
    return release(outcome);
  cancel_connecting(roles_.number(), *outcome->error);
  roles_.abort(*outcome->error, [this, outcome] { release(outcome); });
}

/// All roles must have ended before the end of the job is answered.
void NodeState::release(const RunOutcomePtr& outcome) {
  roles_.end_ranks();
  const bool for_all = end_ ? end_->for_all : !node_.hands_over;
  do_blocking([this, outcome, for_all](NodeWork& work) -> Continuation {
    work.release(for_all);
    return [this, outcome] { deliver(outcome); };
  });
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
    node_.setup.run_blocking([work = std::exchange(work_, nullptr)] {});
}

} // namespace troupe::actors
