#include "voter.hpp"

#include "carried_error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::actors {

namespace {

using namespace std::chrono_literals;

} // namespace

VoterState::VoterState(voter_actor::pointer self, VoterSetup setup)
    : self_{self}, setup_{std::move(setup)}, lost_{self, setup_.detection} {}

voter_actor::behavior_type VoterState::make_behavior() {
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
      [this](atom::join, const engine::Voter& who, const peer_actor& peer) {
        return meet(who, peer);
      },
      [this](atom::done, const std::string& address) { dialled_.erase(address); },
      [this](atom::propose, const Record& record) { return propose(record); },
      [this](atom::form) { announce(); },
      [this](atom::failed, std::int64_t generation) {
        if (last_ && last_->number == generation)
          lose_leader();
      },
      [this](atom::lead, std::int64_t generation) { return leader_after(generation); },
      [this](atom::finish) { end(); },
      [this](atom::status) { return status(); }};
}

/// What is decided on is what follows the last record that both know. One that is news to this node
/// has been decided, or nobody would ask about it.
bool VoterState::is_about(const Record& last) {
  learn(last);
  return last_ && decree_ && last_->job == last.job && last_->number == last.number;
}

bool VoterState::concerns(const Record& record) const {
  const auto& address = setup_.self.address;
  return own_vote(record) || std::ranges::count(record.spares, address) > 0 ||
         std::ranges::any_of(record.nodes, [this](const engine::NodePlace& place) {
           return engine::Voter{place.address, place.process} == setup_.self;
         });
}

/// Another job's record is for who takes part in it, and is then in no other.
void VoterState::learn(const Record& record) {
  if (!last_ || last_->job != record.job ? concerns(record) : last_->number < record.number)
    adopt(record);
}

void VoterState::adopt(const Record& record) {
  refuse_wish();
  has_ended_ = has_ended_ && last_->job == record.job;
  last_ = record;
  has_lost_leader_ = false;
  yielded_ = 0;
  decree_.reset();
  if (const auto index = own_vote(record)) {
    decree_.emplace(record.voters.size(), *index);
    if (*index == 0)
      decree_->begin_first();
  }
  answer_candidates();
  move_to(record.leader(), 0);
  meet_others();
  self_->run_delayed(setup_.detection, [this, number = record.number] {
    if (last_->number == number && !leads() && !peers_.contains(last_->leader()))
      lose_leader();
  });
}

std::optional<std::size_t> VoterState::own_vote(const Record& record) const {
  const auto own = std::ranges::find(record.voters, setup_.self);
  if (own == record.voters.end())
    return std::nullopt;
  return static_cast<std::size_t>(own - record.voters.begin());
}

caf::result<Consent> VoterState::vote(const Record& last, Ballot ballot) {
  if (!is_about(last))
    return Consent{.newer = last_};
  const bool asks_leader = ballot % std::ssize(last_->voters) == 0;
  if (asks_leader || has_lost_leader_)
    return consent(ballot);
  auto promise = self_->make_response_promise<Consent>();
  candidates_.push_back({last.number, ballot, promise});
  return promise;
}

/// Who may be elected by it is left alone for a while, and longer each time: else two that need
/// longer than that until others can come to them could be elected in turn for ever.
Consent VoterState::consent(Ballot ballot) {
  const auto promise = decree_->promise(ballot);
  if (promise.is_granted && has_lost_leader_)
    campaign_in(setup_.detection * ++yielded_);
  return {.promise = promise};
}

void VoterState::answer_candidates() {
  for (auto& candidate : std::exchange(candidates_, {}))
    candidate.consent.deliver(decree_ && last_->number == candidate.generation
                                  ? consent(candidate.ballot)
                                  : Consent{.newer = last_});
}

Ballot VoterState::accept(const Record& last, const RecordProposal& proposal) {
  return is_about(last) ? decree_->accept(proposal) : -1;
}

/// Two may have been elected, the one while the other was still busy with the leader's loss: were
/// each to go to the other, nobody would lead.
void VoterState::gather_at(const Record& last, const std::string& address, Ballot ballot) {
  const bool is_last =
      is_about(last) || (last_ && last_->job == last.job && last_->number == last.number);
  if (!is_last || ballot < gathers_by_)
    return;
  has_lost_leader_ = true;
  move_to(address, ballot);
}

void VoterState::forget_place() {
  gathers_at_.clear();
  gathers_by_ = 0;
}

void VoterState::move_to(const std::string& address, Ballot ballot) {
  gathers_at_ = address;
  gathers_by_ = ballot;
  if (asker_)
    std::exchange(asker_, std::nullopt)->deliver(address, *last_);
  setup_.moved(address);
}

void VoterState::lose_leader() {
  if (has_lost_leader_ || !last_ || leads())
    return;
  has_lost_leader_ = true;
  forget_place();
  answer_candidates();
  campaign_in(turn());
}

/// The first voters go first, so that they do not disturb each other.
std::chrono::milliseconds VoterState::turn() const {
  const auto index = last_ ? own_vote(*last_).value_or(0) : 0;
  return index < 2 ? 0ms : setup_.detection / 4 * static_cast<int>(index - 1);
}

void VoterState::campaign_in(std::chrono::milliseconds delay) {
  self_->run_delayed(delay, [this, planned = ++campaigns_] {
    if (planned == campaigns_)
      campaign();
  });
}

/// A witness votes, but has nothing to lead with.
void VoterState::campaign() {
  const bool trains = last_ && std::ranges::count(last_->nodes, setup_.self.address,
                                                  &engine::NodePlace::address) > 0;
  const bool contests = wish_ && leads();
  if (!decree_ || has_ended_ || !trains || !(contests || (has_lost_leader_ && gathers_at_.empty())))
    return;
  const auto ballot = decree_->campaign();
  for (std::size_t i = 0; i < last_->voters.size(); ++i)
    if (const auto* peer = peer_of(last_->voters[i]))
      self_->request(*peer, caf::infinite, atom::vote_v, *last_, ballot)
          .then(
              [this, i, number = last_->number](const Consent& consent) {
                if (last_->number == number)
                  count(i, consent);
              },
              [](const caf::error&) {}); // it is gone
  go_on_if_elected();
  campaign_in(setup_.detection);
}

void VoterState::count(std::size_t voter, const Consent& consent) {
  if (consent.newer)
    return learn(*consent.newer);
  if (!decree_)
    return;
  decree_->note(voter, consent.promise);
  go_on_if_elected();
}

/// Whose ballot may decide, but what an earlier one may have decided comes first.
void VoterState::go_on_if_elected() {
  if (!decree_->may_propose() || decree_->proposed())
    return;
  if (const auto* bound = decree_->bound())
    put_to_vote(*bound);
  else if (wish_)
    put_to_vote(wish_->record);
  else
    move_to(setup_.self.address, *decree_->ballot());
}

/// The first generation of a job has nobody before it who could decide.
caf::result<void> VoterState::propose(const Record& record) {
  if (record.voters.empty() || !last_ || last_->job != record.job) {
    adopt(record);
    return caf::unit;
  }
  if (!decree_ || !decree_->may_propose() || record.number <= last_->number)
    return carry({Errc::network, "another node leads the job now"});
  wish_ = {record, self_->make_response_promise<void>()};
  auto promise = wish_->decided;
  put_to_vote(record);
  return promise;
}

void VoterState::put_to_vote(const Record& record) {
  decree_->propose(record);
  for (std::size_t i = 0; i < last_->voters.size(); ++i)
    ask_to_accept(i);
  settle_if_decided();
}

void VoterState::ask_to_accept(std::size_t voter) {
  const auto* peer = peer_of(last_->voters[voter]);
  if (peer == nullptr)
    return; // until it is met
  self_->request(*peer, caf::infinite, atom::propose_v, *last_, *decree_->proposed())
      .then(
          [this, voter, number = last_->number](std::int64_t ballot) {
            if (last_->number != number || !decree_ || !decree_->proposed())
              return;
            if (ballot > decree_->proposed()->ballot)
              return lose_vote();
            decree_->note(voter, ballot);
            settle_if_decided();
          },
          [](const caf::error&) {});
}

/// Another has been promised more. The leader asks again; who was elected leaves it to the other.
void VoterState::lose_vote() {
  if (leads())
    return campaign_in(setup_.detection / 4);
  refuse_wish();
  forget_place();
  campaign_in(setup_.detection);
}

void VoterState::settle_if_decided() {
  if (!decree_ || decree_->decided() == nullptr)
    return;
  const auto record = *decree_->decided();
  auto wish = std::exchange(wish_, std::nullopt);
  adopt(record);
  for (const auto& [address, peer] : peers_)
    self_->send(peer.voter, atom::decided_v, record);
  if (!wish)
    return;
  if (wish->record.secret == record.secret)
    wish->decided.deliver();
  else
    wish->decided.deliver(carry({Errc::network, "another generation was decided already"}));
}

void VoterState::refuse_wish() {
  if (wish_)
    std::exchange(wish_, std::nullopt)
        ->decided.deliver(carry({Errc::network, "another node leads the job now"}));
}

/// To all that can be reached, from the first on.
void VoterState::announce() {
  if (!gathers_here()) // any more
    return;
  for (const auto& [address, peer] : peers_)
    self_->send(peer.voter, atom::lead_v, *last_, setup_.self.address, gathers_by_);
}

caf::result<std::string, engine::GenerationRecord>
VoterState::leader_after(std::int64_t generation) {
  if (has_ended_)
    return carry({Errc::stopped, "the job has ended"});
  const bool is_known = last_ && !gathers_at_.empty() &&
                        (last_->number > generation || gathers_at_ != last_->leader());
  if (is_known)
    return {gathers_at_, *last_};
  if (generation < 0)
    return {std::string{}, Record{}};
  return asker_.emplace(self_->make_response_promise<std::string, Record>());
}

/// This node is not one of those any more who go on.
void VoterState::end() {
  has_ended_ = true;
  if (asker_)
    std::exchange(asker_, std::nullopt)->deliver(carry({Errc::stopped, "the job has ended"}));
}

std::string VoterState::status() const {
  if (!last_ || !(has_lost_leader_ || wish_))
    return {};
  const auto here = std::ranges::count_if(last_->voters, [this](const engine::Voter& voter) {
    return voter == setup_.self || peer_of(voter) != nullptr;
  });
  return fmt::format("{}{} of {} nodes that decide who takes part are here",
                     wish_ ? "" : fmt::format("node {}, which led, is gone; ", last_->leader()),
                     here, last_->voters.size());
}

} // namespace troupe::actors
