// The end of a node's part in a job: with the job, or when it leaves the others.
#include "actors/node/node.hpp"

#include <fmt/format.h>

namespace troupe::actors {

void NodeState::ended(const RunOutcomePtr& outcome) {
  ended_ = outcome;
  if (!membership_)
    return conclude(outcome);
  // This daemon may end once the others know: earlier, they would take its end for a failure.
  const auto answer = [this, outcome] {
    // If the generation has been ended already, the end of its roles calls conclude().
    if (!is_halted(assignment_of_))
      conclude(outcome);
  };
  self_
      // Longer than MEMBERSHIP waits for the voters, and then for all nodes.
      ->request(membership_, setup_.timeouts.rejoin + setup_.timeouts.detection, atom::finish_v,
                JobEnd{.result = outcome->summary, .error = outcome->error})
      .then(answer, [answer](const caf::error&) { answer(); });
}

void NodeState::finish(const JobEnd& end) {
  if (built_ && generation().assignment.leads() && coordinator_) {
    if (!end.for_all) { // its MEMBERSHIP ends, and another node leads
      hands_over_ = true;
      hands_over_for_ = end.error;
    }
    return; // COORDINATOR reports its own end
  }
  if (end_)
    return; // losses after the end do not matter
  end_ = end;
  if (!end.for_all && leader_ == identity_.address) // before its generation was built
    hands_over_ = true;
  if (consensus_ && !hands_over_)
    self_->send(consensus_, atom::finish_v);
  if (!left_out_.empty()) // it waits to join again, and need not
    setup_.stopped();
  refuse_assignment();
  if (built_ && !is_halted(generation().assignment.generation.number))
    tell_outcome(end);
}

/// Refuses a pending assignment: its MEMBERSHIP may not know of the end, which the voters have
/// decided.
void NodeState::refuse_assignment() {
  if (!assignment_.pending())
    return;
  leave();
  assignment_.deliver(training::NodeAssignment{.refused = why_ended()});
}

Error NodeState::why_ended() const {
  return end_->error.value_or(
      Error{Errc::stopped, end_->for_all
                               ? fmt::format("the job has ended already: {}", end_->result.status)
                               : "asked to leave the job"});
}

void NodeState::tell_outcome(const JobEnd& end) {
  RunOutcome outcome{.summary = {built_->info}, .error = end.error};
  static_cast<metrics::RunResult&>(outcome.summary) = end.result;
  if (end.error)
    outcome.summary.error = end.error->to_string();
  const RunOutcomePtr shared = std::make_shared<const RunOutcome>(std::move(outcome));
  const auto answer = [this](const RunOutcomePtr& ended) { conclude(ended); };
  self_->request(built_->metrics, caf::infinite, atom::finish_v, shared)
      .then(answer, [answer, shared](const caf::error&) { answer(shared); });
}

void NodeState::stop() {
  stopping_ = true;
  stop_job();
}

void NodeState::stop_job() {
  if (membership_)
    self_->send(membership_, atom::stop_v);
  else if (coordinator_)
    self_->send(coordinator_, atom::stop_v);
  setup_.stopped();
}

/// If the request of a follower fails, MEMBERSHIP is lost, and the node ends anyway.
void NodeState::end() {
  leaving_ = true;
  const bool leads = leader_ == identity_.address;
  if (!membership_)
    return leave_next();
  if (setup_.ends_for_all && leads)
    return stop();
  if (leads && asked_to_leave_ == membership_.address())
    return; // it answers when it can hand over
  asked_to_leave_ = membership_.address();
  ask_to_leave(
      true, [] {},
      [this](const caf::error&) {
        if (leader_ == identity_.address)
          stop_job();
      });
  if (!leads)
    setup_.stopped();
}

/// Repeats a request that this node had when it lost its leader, because the next leader does not
/// know of it.
void NodeState::repeat_request() {
  if (leaving_)
    end();
  else if (stopping_ && leader_ != identity_.address) // else it stops the job when it trains
    self_->send(membership_, atom::stop_v);
}

/// Between two leaders: leaves the next one.
void NodeState::leave_next() {
  if (!consensus_)
    return stop();
  leaving_ = true;
  setup_.stopped();
}

caf::result<void> NodeState::leave_others() {
  if (!membership_) {
    leave_next();
    return caf::unit;
  }
  auto promise = self_->make_response_promise<void>();
  ask_to_leave(
      false, [promise]() mutable { promise.deliver(); },
      [promise](const caf::error& error) mutable { promise.deliver(error); });
  return promise;
}

void NodeState::ask_to_leave(bool waits, std::function<void()> left,
                             std::function<void(const caf::error&)> refused) {
  self_->request(membership_, caf::infinite, atom::leave_v, member_actor{node_actor{self_}}, waits)
      .then(
          [this, left = std::move(left), led = leader_ == identity_.address] {
            hands_over_ = led;
            setup_.stopped();
            left();
          },
          std::move(refused));
}

/// Waits for the vote: the others may need this node's to decide which node leads.
void NodeState::leave_to_others() {
  const RunOutcomePtr outcome = std::make_shared<const RunOutcome>(
      RunOutcome{.summary = {},
                 .error = hands_over_for_.value_or(
                     Error{Errc::stopped, "this node has left the job, and another node leads it"}),
                 .built = false});
  leave_vote([this, outcome] { release(outcome); });
}

/// Waits until the others have decided which node leads, because they may need this node's vote.
void NodeState::leave_vote(const std::function<void()>& then) {
  self_->request(consensus_, setup_.timeouts.rejoin, atom::leave_v)
      .then(then, [then](const caf::error&) { then(); });
}

/// Leaves a generation at the end of the job.
void NodeState::conclude(const RunOutcomePtr& outcome) {
  if (!outcome->error)
    return release(outcome);
  cancel_connecting(generation().assignment.generation.number, *outcome->error);
  abort_ranks(*outcome->error, [this, outcome] { release(outcome); });
}

/// Otherwise ranks that wait for a failed one would wait for the timeout.
void NodeState::abort_ranks(const Error& reason, const std::function<void()>& then) {
  const auto waiting = std::make_shared<std::size_t>(shard_managers_.size());
  const auto answered = [waiting, then] {
    if (--*waiting == 0)
      then();
  };
  if (shard_managers_.empty())
    return then();
  for (const auto& shard_manager : shard_managers_)
    self_->request(shard_manager, caf::infinite, atom::abort_v, reason)
        .then(answered, [answered](const caf::error&) { answered(); });
}

/// All roles must have ended before the end of the job is answered.
void NodeState::release(const RunOutcomePtr& outcome) {
  end_ranks();
  const auto answer = [this, outcome] { outcome_.deliver(outcome); };
  self_->request(builder_, caf::infinite, atom::release_v, end_ ? end_->for_all : !hands_over_)
      .then(answer, [answer](const caf::error&) { answer(); });
}

void NodeState::end_ranks() {
  shard_managers_.clear();
  std::erase_if(roles_, [this](const Role& role) {
    const bool stays = role.actor.address() == coordinator_.address() ||
                       role.actor.address() == built_->metrics.address();
    if (!stays) {
      ending_.push_back(role.actor.address());
      self_->send_exit(role.actor, caf::exit_reason::user_shutdown);
    }
    return !stays;
  });
}

void NodeState::when_ended(std::function<void()> then) {
  if (ending_.empty())
    return then();
  when_ended_ = std::move(then);
}

void NodeState::end_all() {
  if (setup_.data_plane)
    setup_.data_plane->end_probes();
  end_ranks();
  for (const auto& role : roles_)
    self_->send_exit(role.actor, caf::exit_reason::user_shutdown);
  built_.reset(); // GENERATION BUILDER drops the generation after this, so that its last owner is
                  // not NODE
  if (builder_)
    self_->send_exit(builder_, caf::exit_reason::user_shutdown);
}

} // namespace troupe::actors
