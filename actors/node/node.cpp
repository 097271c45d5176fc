#include "actors/node/node.hpp"

#include "actors/caf_error.hpp"
#include "actors/node/probing.hpp"
#include "actors/roles/traced.hpp"
#include "core/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::actors {

node_actor::behavior_type NodeState::make_behavior() {
  self_->set_down_handler([this](const caf::down_msg& message) { down(message); });
  self_->set_exit_handler([this](const caf::exit_msg& exit) {
    end_all();
    self_->quit(exit.reason);
  });
  return traced<node_actor>(
      setup_.row, [this](atom::join) { return membership(); },
      [this](atom::begin, const std::string& requester) { return begins(requester); },
      [this](atom::introduce, const training::Voter& who, const peer_actor& peer) {
        return add_peer(who, peer);
      },
      [this](atom::join, const membership_actor& membership, const std::string& leader,
             const NodeInfo& info) { return take_part(membership, leader, info); },
      [this](atom::run, const generation_builder_actor& builder) { return run(builder); },
      [this](atom::finish, const JobEnd& end) { finish(end); },
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
        identity_ = self;
        consensus_ = consensus;
      },
      [this](atom::vote) { return identity_; }, [this](atom::stop) { stop(); },
      [this](atom::leave) { return leave_others(); }, [this](atom::quit) { end(); },
      [this](atom::status) { return status(); }, [this](atom::decided) { return last_record(); });
}

caf::result<training::Voter, peer_actor> NodeState::add_peer(const training::Voter& who,
                                                             const peer_actor& peer) {
  if (consensus_)
    return self_->delegate(consensus_, atom::introduce_v, who, peer);
  return caf::make_error(caf::sec::runtime_error, "this daemon has just started");
}

/// If this node has led, the others lose it together with its MEMBERSHIP, and need its vote to
/// decide which node leads.
void NodeState::note_left_out(const std::string& why) {
  left_out_ = why;
  if (consensus_ && leader_ == identity_.address)
    self_->send(consensus_, atom::leave_v);
}

caf::result<training::GenerationRecord> NodeState::last_record() const {
  if (consensus_ && !end_)
    return self_->delegate(consensus_, atom::decided_v);
  return training::GenerationRecord{.number = 0};
}

/// Learns a record. This node may have no assignment in it, and wait for one.
void NodeState::learn(const training::GenerationRecord& record) {
  told_ = record.number;
  if (consensus_)
    self_->send(consensus_, atom::decided_v, record);
  if (record.number == known_) {
    voters_ = record.voters.size();
    if (builder_)
      self_->send(builder_, atom::decided_v, record);
  }
  const bool is_spare = std::ranges::count(record.spares, identity_.address) > 0;
  if (assignment_.pending() && is_spare)
    say_why_spare();
}

void NodeState::cancel_connecting(std::int64_t generation, const Error& error) {
  if (setup_.data_plane)
    setup_.data_plane->cancel(generation, error);
}

/// Only accepts orders from the MEMBERSHIP that it has asked, so that no stranger makes this node
/// dial anywhere.
caf::result<std::vector<BrokenLink>> NodeState::probe(const ProbeOrder& order) {
  if (setup_.data_plane && membership_ && self_->current_sender() == membership_)
    return probe_links(self_, setup_.data_plane, identity_.address, order);
  return caf::make_error(caf::sec::runtime_error,
                         "this daemon accepts probe orders only from the leader of its job");
}

caf::result<RunOutcomePtr> NodeState::run(const generation_builder_actor& builder) {
  builder_ = builder;
  outcome_ = self_->make_response_promise<RunOutcomePtr>();
  build();
  return outcome_;
}

void NodeState::build() {
  self_->request(builder_, caf::infinite, atom::build_v)
      .then([this](const BuiltGenerationPtr& built) { train(built); },
            [this](const caf::error& error) {
              not_built(from_caf_error(
                  error, {Errc::internal,
                          "the generation builder died",
                          {.node = training::host_name(), .actor = "generation_builder"}}));
            });
}

/// Ends a generation. GENERATION BUILDER retains this node's state for the next one if it is whole.
void NodeState::halt(std::int64_t generation, const Error& reason) {
  if (ended_ || end_)
    return;
  halted_ = generation;
  cancel_connecting(generation, reason);
  if (built_ && this->generation().assignment.generation.number == generation)
    let_go(reason);
}

void NodeState::let_go(const Error& reason) {
  if (coordinator_ && generation().assignment.leads())
    self_->send(coordinator_, atom::abort_v);
  abort_ranks(reason, [this] {
    end_ranks();
    when_ended([this] { end_generation(); });
  });
}

/// Nothing is enqueued any more. COORDINATOR records all reported steps, and sends them to METRICS.
void NodeState::end_generation() {
  if (!generation().assignment.leads() || !coordinator_)
    return release_roles();
  self_->request(coordinator_, caf::infinite, atom::release_v)
      .then(
          [this](const RunTotalsPtr& totals) {
            totals_ = totals;
            release_roles();
          },
          [](const caf::error&) {}); // it has died; down() is told the reason
}

/// Ends the remaining roles. METRICS ends with its answer.
void NodeState::release_roles() {
  const auto end_rest = [this] {
    for (const auto& role : std::exchange(roles_, {})) {
      ending_.push_back(role.actor.address());
      if (role.actor.address() == coordinator_.address())
        self_->send_exit(role.actor, caf::exit_reason::user_shutdown);
    }
    when_ended([this] { form_next(); });
  };
  self_->request(built_->metrics, caf::infinite, atom::release_v)
      .then(
          [this, end_rest](const RunViewPtr& view) {
            view_ = view;
            end_rest();
          },
          [end_rest](const caf::error&) { end_rest(); }); // its files are read again
}

void NodeState::form_next() {
  if (ended_) // the job ended just before the halt
    return release(ended_);
  if (end_) // the job ended since then
    return tell_outcome(*end_);
  if (hands_over_)
    return leave_to_others();
  coordinator_ = nullptr;
  built_.reset();
  const auto then = [this] { build(); }; // build() reports it if GENERATION BUILDER has died
  self_->request(builder_, caf::infinite, atom::halt_v, std::exchange(view_, nullptr))
      .then(then, [then](const caf::error&) { then(); });
}

/// Nodes that end with the job become unreachable for a node that is still building. The end of the
/// job is then the better error.
void NodeState::not_built(Error error) {
  if (is_halted(assignment_of_) && !end_)
    return build();
  if ((error.code == Errc::network || error.code == Errc::stopped) && end_)
    error = why_ended();
  if (!end_)
    end_ = failed_end(error);
  const RunOutcomePtr outcome = std::make_shared<const RunOutcome>(
      RunOutcome{.summary = {}, .error = std::move(error), .built = false});
  const auto deliver = [this, outcome] { outcome_.deliver(outcome); };
  consensus_&& hands_over_ ? leave_vote(deliver) : deliver();
}

void NodeState::train(const BuiltGenerationPtr& built) {
  built_ = built;
  watch(caf::actor_cast<caf::actor>(built_->metrics), "metrics");
  const auto number = generation().assignment.generation.number;
  if (end_)
    tell_outcome(*end_);
  else if (is_halted(number))
    let_go({Errc::network, "the generation ended before it started"});
  else if (generation().assignment.leads())
    lead();
  else
    follow();
}

void NodeState::follow() {
  totals_ = nullptr;
  self_->request(membership_, setup_.timeouts.quorum, atom::follow_v)
      .then(
          [this, number = assignment_of_](const coordinator_actor& coordinator) {
            if (is_halted(number) || end_)
              return;
            coordinator_ = coordinator;
            spawn_workers();
          },
          [this, number = assignment_of_](const caf::error& error) {
            if (!is_halted(number))
              lost_leader(error);
          });
}

void NodeState::lost_coordinator(const Error& error) {
  const auto end = failed_end(error);
  if (membership_) // otherwise the others would wait for the end
    self_->send(membership_, atom::finish_v, end);
  tell_outcome(end);
}

/// Monitors, does not link: a role that dies ends the job with a message, not the node.
void NodeState::watch(const caf::actor& actor, std::string_view role, int rank) {
  self_->monitor(actor);
  roles_.push_back({actor, role, rank});
}

void NodeState::down(const caf::down_msg& down) {
  if (std::erase(ending_, down.source) > 0) {
    if (ending_.empty() && when_ended_)
      std::exchange(when_ended_, {})();
    return;
  }
  if (membership_ && down.source == membership_.address())
    return lost_leader(down.reason);
  const auto found = std::ranges::find_if(
      roles_, [&](const Role& candidate) { return candidate.actor.address() == down.source; });
  if (found == roles_.end())
    return;
  const auto role = *found;
  roles_.erase(found);
  if (down.reason == caf::exit_reason::user_shutdown)
    return;
  const auto error = died(role.name, down.reason, role.rank);
  if (role.actor.address() == coordinator_.address())
    lost_coordinator(error);
  else if (!is_halted(assignment_of_))
    self_->send(coordinator_, atom::failed_v, error);
}

Error NodeState::died(std::string_view role, const caf::error& reason, int rank) const {
  const auto& place = generation().assignment.member();
  return {Errc::internal,
          fmt::format("the {} died: {}", role, caf::to_string(reason)),
          {.node = place.address.empty() ? place.host : place.address,
           .actor = std::string{role},
           .rank = rank}};
}

void NodeState::lost_leader(const caf::error& reason) {
  if (reason == caf::sec::request_timeout)
    return lost_leader(Error{Errc::network,
                             fmt::format("node {}, which leads the job, has not answered within {}",
                                         leader_, format_duration(setup_.timeouts.quorum)),
                             {.node = leader_}});
  if (reason == caf::exit_reason::user_shutdown)
    return lost_leader(Error{Errc::stopped,
                             fmt::format("node {}, which led the job, has left it", leader_),
                             {.node = leader_}});
  lost_leader(Error{Errc::network,
                    fmt::format("node {}, which led the job, was lost: {}", leader_,
                                lost_.why(membership_.node(), reason)),
                    {.node = leader_}});
}

/// The leader may be lost while this node still waits for its assignment, or later. If no node can
/// succeed it, the job has failed.
void NodeState::lost_leader(const Error& error) {
  if (consensus_)
    self_->send(consensus_, atom::lost_v, std::max(known_, told_));
  if (assignment_.pending()) {
    leave();
    return assignment_.deliver(training::NodeAssignment{.refused = error});
  }
  if (!may_be_succeeded())
    return finish(failed_end(error));
  leave();
  halt(assignment_of_, error);
}

bool NodeState::may_be_succeeded() const {
  return consensus_ && voters_ > 1 && !ended_ && !end_;
}

/// Follows the others to another leader. This node's leader was cut off from them, and may not know
/// it.
void NodeState::follow_to(const std::string& address) {
  if (!membership_ || address == leader_ || ended_ || end_)
    return;
  if (leader_ == identity_.address)
    self_->send_exit(membership_, caf::exit_reason::user_shutdown);
  const auto what =
      address == identity_.address
          ? fmt::format("node {}, which led the job, was lost: this node was elected", leader_)
          : fmt::format("the other nodes have joined the new leader {}", address);
  lost_leader(Error{Errc::network, what, {.node = leader_}});
}

} // namespace troupe::actors
