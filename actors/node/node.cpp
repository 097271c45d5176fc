#include "actors/node/node.hpp"

#include "actors/caf_error.hpp"
#include "actors/resume_in.hpp"
#include "actors/roles/traced.hpp"
#include "core/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace troupe::actors {

namespace {

/// The outcome of a node whose last generation has not ended the job.
RunOutcomePtr not_trained(Error error) {
  return std::make_shared<const RunOutcome>(
      RunOutcome{.summary = {}, .error = std::move(error), .built = false});
}

} // namespace

node_actor::behavior_type NodeState::make_behavior() {
  node_.self->set_down_handler([this](const caf::down_msg& message) { down(message); });
  node_.self->set_exit_handler([this](const caf::exit_msg& exit) {
    end_all();
    node_.self->quit(exit.reason);
  });
  return traced<node_actor>(
      node_.setup.row, [this](atom::join) { return membership(); },
      [this](atom::begin, const std::string& requester) { return view_for(requester); },
      [this](atom::introduce, const training::Voter& who,
             const peer_actor& peer) -> caf::result<training::Voter, peer_actor> {
        if (node_.consensus)
          return node_.self->delegate(node_.consensus, atom::introduce_v, who, peer);
        return caf::make_error(caf::sec::runtime_error, "this daemon has just started");
      },
      [this](atom::join, const membership_actor& membership, const std::string& leader,
             const NodeInfo& info) { return take_part(membership, leader, info); },
      [this](atom::run, const NodeWorkPtr& work) { return run(work); },
      [](atom::done, const FollowUpPtr& then) { (*then)(); },
      [this](atom::finish, const JobEnd& end) { return stop(StopReason::told, end); },
      [this](atom::abort, std::int64_t generation, const Error& error) {
        cancel_connecting(generation, error);
      },
      [this](atom::halt, std::int64_t generation, const Error& reason) {
        halt(generation, reason);
      },
      [this](atom::probe, const ProbeOrder& order) { return probe(order); },
      [this](atom::decided, const training::GenerationRecord& record) { learn(record); },
      [this](atom::lead, const std::string& address) { follow_to(address); },
      [this](atom::vote, const training::Voter& self, const consensus_actor& consensus) {
        node_.identity = self;
        node_.consensus = consensus;
      },
      [this](atom::stop, StopReason reason) { return stop(reason); },
      [this](atom::status) { return status(); });
}

/// Learns a record. This node may have no assignment in it, and wait for one.
void NodeState::learn(const training::GenerationRecord& record) {
  told_ = record.number;
  if (node_.consensus)
    node_.self->send(node_.consensus, atom::decided_v, record);
  if (record.number == known_) {
    voters_ = record.voters.size();
    if (work_)
      do_blocking([record](NodeWork& work) -> FollowUp {
        work.note_voters(record);
        return [] {};
      });
  }
  const bool is_spare = std::ranges::count(record.spares, node_.identity.address) > 0;
  if (request_.is_pending() && is_spare)
    request_.say_why_spare();
}

void NodeState::cancel_connecting(std::int64_t generation, const Error& error) {
  if (node_.setup.data_plane)
    node_.setup.data_plane->cancel(generation, error);
}

caf::result<RunOutcomePtr> NodeState::run(const NodeWorkPtr& work) {
  work_ = work;
  outcome_ = node_.self->make_response_promise<RunOutcomePtr>();
  build();
  return outcome_;
}

/// Runs a part of the blocking work, after the earlier ones. It returns what this node does when it
/// is done.
void NodeState::do_blocking(Task task) {
  tasks_.push_back(std::move(task));
  if (tasks_.size() == 1)
    begin_task();
}

/// Destroys the task before the next one begins, because it may own the run's view.
void NodeState::begin_task() {
  node_.setup.run_blocking([this, task = std::exchange(tasks_.front(), {}), work = work_,
                            me = node_actor{node_.self}]() mutable {
    FollowUp then;
    try {
      then = std::exchange(task, {})(*work);
    } catch (const std::exception& exception) {
      const Error error{Errc::internal,
                        std::string{"the generation builder died: "} + exception.what(),
                        {.node = training::host_name(), .actor = "generation_builder"}};
      then = [this, error] { give_up(error); };
    }
    resume_in(me, [this, then = std::move(then)] {
      tasks_.pop_front();
      if (!tasks_.empty())
        begin_task();
      then();
    });
  });
}

void NodeState::build() {
  do_blocking([this](NodeWork& work) -> FollowUp {
    const auto built = work.build();
    return [this, built] {
      if (built)
        return train(*built);
      // Tries again if the generation was halted meanwhile, or if the build has failed before this
      // node requested an assignment in the next one.
      phase_ == NodePhase::recovering ? build() : give_up(built.error());
    };
  });
}

/// Ends a generation. This node's state is retained for the next one if it is whole.
void NodeState::halt(std::int64_t generation, const Error& reason) {
  if (has_ended())
    return;
  halted_ = std::max(halted_, generation);
  cancel_connecting(generation, reason);
  const bool trained = phase_ == NodePhase::training;
  note_halted();
  if (trained && phase_ == NodePhase::recovering)
    let_go(reason);
}

void NodeState::note_halted() {
  if (number() > 0 && halted_ >= number())
    enter(NodeEvent::halt);
}

void NodeState::let_go(const Error& reason) {
  if (node_.coordinator && roles_.leads())
    node_.self->send(node_.coordinator, atom::abort_v);
  roles_.abort(reason, [this] {
    roles_.end_ranks();
    roles_.when_ended([this] { end_generation(); });
  });
}

/// Nothing is enqueued any more. COORDINATOR records all reported steps, and sends them to METRICS.
void NodeState::end_generation() {
  if (!roles_.leads() || !node_.coordinator)
    return release_roles();
  node_.self->request(node_.coordinator, caf::infinite, atom::release_v)
      .then(
          [this](const RunTotalsPtr& totals) {
            totals_ = totals;
            release_roles();
          },
          [this](const caf::error&) { // it has died; down() is told the reason
            if (ended_)               // it had ended the job before
              release_roles();
          });
}

/// Ends the remaining roles. METRICS ends with its answer.
void NodeState::release_roles() {
  const auto end_rest = [this](const RunViewPtr& view) {
    roles_.end_rest();
    roles_.when_ended([this, view] { form_next(view); });
  };
  node_.self->request(roles_.built().metrics, caf::infinite, atom::release_v)
      .then(end_rest,
            [end_rest](const caf::error&) { end_rest(nullptr); }); // its files are read again
}

void NodeState::form_next(RunViewPtr view) {
  if (ended_ || end_) // the job ended just before the halt, or since then
    return conclude(end_.value_or(JobEnd{}));
  if (has_ended()) // COORDINATOR has died since then: end_job() concludes
    return;
  if (node_.hands_over)
    return leave_vote([this] { release(not_trained(*node_.hands_over)); });
  node_.coordinator = nullptr;
  roles_.drop();
  do_blocking([this, view = std::move(view)](NodeWork& work) -> FollowUp {
    work.halt(view);
    return [this] { build(); }; // after this handler, which owns the view too
  });
}

/// Nodes that end with the job become unreachable for a node that is still building. The end of the
/// job is then the better error.
void NodeState::give_up(Error error) {
  if ((error.code == Errc::network || error.code == Errc::stopped) && end_)
    error = why_ended();
  if (!end_)
    end_ = failed_end(error);
  enter(NodeEvent::end);
  const auto outcome = not_trained(std::move(error));
  const auto report = [this, outcome] { deliver(outcome); };
  if (node_.consensus && node_.hands_over)
    leave_vote(report);
  else
    report();
}

void NodeState::train(const BuiltGenerationPtr& built) {
  roles_.take(built);
  enter(NodeEvent::built);
  if (end_)
    conclude(*end_);
  else if (phase_ == NodePhase::recovering)
    let_go({Errc::network, "the generation ended before it started"});
  else if (roles_.leads())
    lead();
  else
    follow();
}

void NodeState::lead() {
  roles_.spawn_coordinator(totals_);
  roles_.spawn_workers();
  if (node_.membership)
    node_.self->send(node_.membership, atom::lead_v, node_.coordinator);
  if (stops_.stops_job())
    node_.self->send(node_.coordinator, atom::stop_v, asked_to_stop());
  node_.self->request(node_.coordinator, caf::infinite, atom::run_v)
      .then(
          [this](const RunOutcomePtr& outcome) {
            ended_ = outcome;
            stop(StopReason::ended, {.result = outcome->summary, .error = outcome->error});
          },
          [](const caf::error&) {}); // it has died; down() is told the reason
}

void NodeState::follow() {
  totals_ = nullptr;
  node_.self->request(node_.membership, node_.setup.timeouts.quorum, atom::follow_v)
      .then(
          [this, number = number()](const coordinator_actor& coordinator) {
            if (!trains(number))
              return;
            node_.coordinator = coordinator;
            roles_.spawn_workers();
          },
          [this, number = number()](const caf::error& error) {
            if (trains(number))
              lost_leader(error);
          });
}

void NodeState::down(const caf::down_msg& down) {
  if (node_.membership && down.source == node_.membership.address())
    return lost_leader(down.reason);
  const auto error = roles_.down(down);
  if (!error)
    return;
  if (down.source == node_.coordinator.address())
    stop(StopReason::died, failed_end(*error));
  else if (phase_ == NodePhase::training)
    node_.self->send(node_.coordinator, atom::failed_v, *error);
}

void NodeState::lost_leader(const caf::error& reason) {
  const auto report = [this](Errc code, const std::string& what) {
    lost_leader(
        Error{code, fmt::format("node {}, which {}", node_.leader, what), {.node = node_.leader}});
  };
  if (reason == caf::sec::request_timeout)
    return report(Errc::network, "leads the job, has not answered within " +
                                     format_duration(node_.setup.timeouts.quorum));
  if (reason == caf::exit_reason::user_shutdown)
    return report(Errc::stopped, "led the job, has left it");
  report(Errc::network, "led the job, was lost: " + lost_.why(node_.membership.node(), reason));
}

/// The leader may be lost while this node still waits for its assignment, or later. If no node can
/// succeed it, the job has failed.
void NodeState::lost_leader(const Error& error) {
  if (node_.consensus)
    node_.self->send(node_.consensus, atom::lost_v, std::max(known_, told_));
  if (request_.is_pending())
    return request_.refuse(error);
  const bool may_be_succeeded = node_.consensus && voters_ > 1 && !has_ended();
  if (!may_be_succeeded) {
    stop(StopReason::told, failed_end(error));
    return;
  }
  leave();
  halt(number(), error);
}

/// Follows the others to another leader. This node's leader was cut off from them, and may not know
/// it.
void NodeState::follow_to(const std::string& address) {
  if (!node_.membership || address == node_.leader || has_ended())
    return;
  if (node_.leads())
    node_.self->send_exit(node_.membership, caf::exit_reason::user_shutdown);
  const auto what =
      address == node_.identity.address
          ? fmt::format("node {}, which led the job, was lost: this node was elected", node_.leader)
          : fmt::format("the other nodes have joined the new leader {}", address);
  lost_leader(Error{Errc::network, what, {.node = node_.leader}});
}

} // namespace troupe::actors
