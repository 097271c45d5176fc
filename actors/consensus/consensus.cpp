#include "actors/consensus/consensus.hpp"

#include "actors/caf_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace troupe::actors {

namespace {

/// Whether a process takes part in a record's generation.
bool takes_part(const training::Voter& process, const training::GenerationRecord& record) {
  return vote_of(process, record) || std::ranges::count(record.spares, process.address) > 0 ||
         std::ranges::any_of(record.nodes, [&](const training::MemberInfo& place) {
           return training::Voter{place.address, place.process} == process;
         });
}

/// Returns the addresses that a daemon has to be connected to: those of all voters; if it is a
/// voter, of all nodes and spares.
std::set<std::string> peers_of(const training::Voter& self,
                               const training::GenerationRecord& record) {
  std::set<std::string> addresses;
  for (const auto& voter : record.voters)
    addresses.insert(voter.address);
  if (vote_of(self, record)) {
    for (const auto& place : record.nodes)
      addresses.insert(place.address);
    addresses.insert(record.spares.begin(), record.spares.end());
  }
  addresses.erase(self.address);
  return addresses;
}

/// `last`: the last record.
Error why_ended(const std::optional<training::GenerationRecord>& last) {
  if (!last || !last->end)
    return {Errc::stopped, "the job has ended"};
  return last->end->error.value_or(
      Error{Errc::stopped, fmt::format("the job has ended already: {}", last->end->result.status)});
}

} // namespace

ConsensusState::ConsensusState(consensus_actor::pointer self, ConsensusSetup setup)
    : self_{self}, setup_{std::move(setup)}, peers_{self, setup_.self.address, setup_.detection,
                                                    setup_.connect} {}

consensus_actor::behavior_type ConsensusState::make_behavior() {
  self_->set_down_handler([this](const caf::down_msg& down) { peer_down(down); });
  return {
      [this](atom::vote, const Record& last, std::int64_t ballot) { return vote(last, ballot); },
      [this](atom::propose, const Record& last, const RecordProposal& proposal) {
        return accept(last, proposal);
      },
      [this](atom::decided, const Record& record) { learn(record); },
      [this](atom::lead, const Record& last, const std::string& address, std::int64_t ballot) {
        gather_at(last, address, ballot);
      },
      [this](atom::introduce, const training::Voter& who, const peer_actor& peer) {
        return add_peer(who, peer);
      },
      [this](atom::introduce, const std::string& address) { peers_.dialled(address); },
      [this](atom::propose, const Record& record) { return propose(record); },
      [this](atom::gather) { announce(); },
      [this](atom::leave) { return leave(); },
      [this](atom::lost, std::int64_t generation) {
        if (last_ && last_->number == generation)
          lose_leader();
      },
      [this](atom::follow, std::int64_t generation) { return leader_after(generation); },
      [this](atom::finish) { end(); },
      [this](atom::status) { return status(); },
      [this](atom::decided) { return last_record(); }};
}

/// Returns whether this voter takes part in the decision after `last`. First adopts `last` if it is
/// new to this node: it is decided, because another node asks about its successor.
bool ConsensusState::is_about(const Record& last) {
  learn(last);
  return instance_ && is_last(last);
}

bool ConsensusState::is_last(const Record& record) const {
  return last_ && last_->job == record.job && last_->order() == record.order();
}

/// Learns a record. Ignores those of jobs in which this node does not take part. A node that has
/// joined another job since then never returns to the old one: its vote there is lost, as after a
/// restart.
void ConsensusState::learn(const Record& record) {
  if (record.nodes.empty()) // a corrupted message
    return;
  const bool is_other = !last_ || last_->job != record.job;
  if (is_other ? takes_part(setup_.self, record) && !record.end && !left_jobs_.contains(record.job)
               : last_->order() < record.order())
    return adopt(record);
  if (is_other && !record.end) {
    for (const auto& place : record.nodes)
      elsewhere_.insert(place.process);
    for (const auto& voter : record.voters)
      elsewhere_.insert(voter.process);
  }
}

void ConsensusState::adopt(const Record& record) {
  refuse_pending_proposal();
  const bool is_other = !last_ || last_->job != record.job;
  if (last_ && is_other)
    left_jobs_.insert(last_->job);
  if (is_other)
    elsewhere_.clear();
  // A revision has the same leader, which may be lost already.
  const bool is_led = is_other || last_->number != record.number || !has_lost_leader_;
  has_ended_ = (has_ended_ && !is_other) || record.end;
  last_ = record;
  has_lost_leader_ = !is_led;
  has_left_ = has_left_ && !is_led;
  yielded_ = 0;
  begin_instance();
  answer_candidates();
  if (record.end)
    close();
  else if (is_led)
    follow_leader();
  else
    forget_place();
  if (has_lost_leader_)
    campaign_in(campaign_delay());
  peers_.connect_to(peers_of(setup_.self, record));
  if (is_other) // nodes of the earlier job must not count this process as free for that job
    tell_all(record);
}

void ConsensusState::tell_all(const Record& record) {
  for (const auto& [address, peer] : peers_.by_address())
    self_->send(peer.voter, atom::decided_v, record);
}

void ConsensusState::begin_instance() {
  instance_.reset();
  heard_ = 0;
  was_frozen_ = false;
  const auto vote = vote_of(setup_.self, *last_);
  if (!vote || last_->end)
    return;
  instance_.emplace(last_->voters.size(), *vote);
  if (*vote == 0)
    instance_->begin_first();
}

void ConsensusState::follow_leader() {
  if (leaver_.pending())
    leaver_.deliver();
  move_to(last_->leader(), 0);
  self_->run_delayed(setup_.detection, [this, order = last_->order()] {
    if (last_->order() == order && !leads() && !peers_.by_address().contains(last_->leader()))
      lose_leader();
  });
}

/// Ends the job for this node. Peers that connect later get the record of the end.
void ConsensusState::close() {
  forget_place();
  if (leaver_.pending())
    leaver_.deliver();
  end();
  setup_.ended(*last_->end);
}

/// If two nodes were elected, the one with the higher ballot counts. If each followed the other,
/// none would lead.
void ConsensusState::gather_at(const Record& last, const std::string& address, Ballot ballot) {
  learn(last);
  if (!is_last(last) || last_->end || ballot < gathers_by_)
    return;
  has_lost_leader_ = true;
  move_to(address, ballot);
}

void ConsensusState::forget_place() {
  gathers_at_.clear();
  gathers_by_ = 0;
}

void ConsensusState::move_to(const std::string& address, Ballot ballot) {
  gathers_at_ = address;
  gathers_by_ = ballot;
  // A revision may name the lost leader.
  if (leader_request_ && is_known_after(leader_request_->generation))
    std::exchange(leader_request_, std::nullopt)->leader.deliver(address, *last_);
  setup_.moved(address);
}

/// Asks all connected peers to gather here.
void ConsensusState::announce() {
  if (!gathers_here()) // no longer
    return;
  for (const auto& [address, peer] : peers_.by_address())
    self_->send(peer.voter, atom::lead_v, *last_, setup_.self.address, gathers_by_);
}

bool ConsensusState::is_known_after(std::int64_t generation) const {
  return last_ && !gathers_at_.empty() &&
         (last_->number > generation || gathers_at_ != last_->leader());
}

caf::result<std::string, training::GenerationRecord>
ConsensusState::leader_after(std::int64_t generation) {
  if (has_ended_)
    return to_caf_error(why_ended(last_));
  if (is_known_after(generation))
    return {gathers_at_, *last_};
  if (generation < 0)
    return {std::string{}, Record{}};
  leader_request_ = {generation, self_->make_response_promise<std::string, Record>()};
  return leader_request_->leader;
}

/// Stops leading, but continues to vote: exactly half of the voters can only decide with this one.
caf::result<void> ConsensusState::leave() {
  if (!leads())
    return caf::unit;
  leaver_ = self_->make_response_promise<void>();
  if (!std::exchange(has_left_, true)) {
    refuse_pending_proposal();
    has_lost_leader_ = true;
    forget_place();
    answer_candidates();
  }
  return leaver_;
}

/// The job has ended for this node.
void ConsensusState::end() {
  has_ended_ = true;
  if (leader_request_)
    std::exchange(leader_request_, std::nullopt)->leader.deliver(to_caf_error(why_ended(last_)));
}

/// Returns the last record for nodes that take no part: without the secret of its data connections.
training::GenerationRecord ConsensusState::last_record() const {
  if (!last_ || has_ended_)
    return {.number = 0};
  auto record = *last_;
  record.secret.clear();
  return record;
}

std::string ConsensusState::status() const {
  if (!last_ || has_ended_ || !(has_lost_leader_ || pending_proposal_))
    return {};
  const auto here = std::ranges::count_if(last_->voters, [this](const training::Voter& voter) {
    return voter == setup_.self || peers_.find(voter) != nullptr;
  });
  return fmt::format("{}{} of {} voters present",
                     pending_proposal_ ? "" : fmt::format("leader {} was lost; ", last_->leader()),
                     here, last_->voters.size());
}

caf::result<training::Voter, peer_actor> ConsensusState::add_peer(const training::Voter& who,
                                                                  const peer_actor& peer) {
  if (!peer)
    return no_handle();
  peers_.add(who, peer);
  if (last_)
    tell(who, peer);
  return {setup_.self, peer_actor{self_}};
}

/// Sends a new peer what it may have missed: the last record, the address to gather at, a proposal.
void ConsensusState::tell(const training::Voter& who, const peer_actor& peer) {
  self_->send(peer, atom::decided_v, *last_);
  if (gathers_here())
    self_->send(peer, atom::lead_v, *last_, setup_.self.address, gathers_by_);
  if (const auto vote = vote_of(who, *last_); vote && instance_ && instance_->proposed())
    ask_to_accept(*vote);
  else if (has_lost_leader_ && gathers_at_.empty())
    campaign_in(campaign_delay());
}

void ConsensusState::peer_down(const caf::down_msg& down) {
  const auto gone = peers_.remove(down.source);
  if (!gone || !last_)
    return;
  // If the voter reconnects, it is asked again. If not, others may count its vote as lost.
  if (const auto vote = vote_of(*gone, *last_); vote && instance_)
    instance_->forget_acceptance(*vote);
  const auto& address = gone->address;
  if (address == last_->leader() && gathers_at_ == address) {
    lose_leader();
  } else if (address == gathers_at_) { // before it had a record decided
    forget_place();
    campaign_in(campaign_delay());
  }
  peers_.reconnect_later();
}

} // namespace troupe::actors
