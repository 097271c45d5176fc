// How VOTERs elect the next leader, and decide records.
#include "actors/cluster/carried_error.hpp"
#include "actors/cluster/voter.hpp"

#include <algorithm>

namespace troupe::actors {

using namespace std::chrono_literals;

namespace {

Consent refused_for(const std::optional<engine::GenerationRecord>& newer) {
  Consent consent;
  consent.newer = newer;
  return consent;
}

/// Each generation has a secret of its own, and each leader proposes its revisions one by one.
bool is_same(const engine::GenerationRecord& one, const engine::GenerationRecord& other) {
  return one.secret == other.secret && one.order() == other.order() &&
         one.end.has_value() == other.end.has_value() && one.voters == other.voters;
}

} // namespace

caf::result<Consent> VoterState::vote(const Record& last, Ballot ballot) {
  if (!is_about(last))
    return refused_for(last_);
  const bool asks_leader = ballot % std::ssize(last_->voters) == 0;
  if (asks_leader || has_lost_leader_)
    return consent(ballot);
  auto promise = self_->make_response_promise<Consent>();
  candidates_.push_back({last.order(), ballot, promise});
  return promise;
}

/// Delays its own campaign after a promise, longer each time. Otherwise two candidates could be
/// elected in turn forever, each before the others have come to the last one.
Consent VoterState::consent(Ballot ballot) {
  const auto promise = decree_->promise(ballot);
  if (promise.is_granted && has_lost_leader_)
    campaign_in(setup_.detection * ++yielded_);
  return {.promise = promise};
}

void VoterState::answer_candidates() {
  for (auto& candidate : std::exchange(candidates_, {}))
    candidate.consent.deliver(decree_ && last_->order() == candidate.last
                                  ? consent(candidate.ballot)
                                  : refused_for(last_));
}

Ballot VoterState::accept(const Record& last, const RecordProposal& proposal) {
  return is_about(last) ? decree_->accept(proposal) : -1;
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

/// Asks the voters for promises. Only nodes that train do so: others have no state to lead with.
void VoterState::campaign() {
  const bool trains = last_ && std::ranges::count(last_->nodes, setup_.self.address,
                                                  &engine::NodePlace::address) > 0;
  const bool contests = wish_ && leads();
  if (!decree_ || has_ended_ || has_left_ || !trains ||
      !(contests || (has_lost_leader_ && gathers_at_.empty())))
    return;
  const auto ballot = decree_->campaign(heard_);
  for (std::size_t i = 0; i < last_->voters.size(); ++i)
    if (const auto* peer = peer_of(last_->voters[i]))
      self_->request(*peer, caf::infinite, atom::vote_v, *last_, ballot)
          .then(
              [this, i, order = last_->order()](const Consent& consent) {
                if (last_->order() == order)
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
  heard_ = std::max(heard_, consent.promise.ballot);
  const bool is_outbid = consent.promise.ballot > decree_->ballot().value_or(0);
  if (is_outbid && leads()) // by a node that lost this leader for a while
    campaign_in(setup_.detection / 4);
  decree_->note(voter, consent.promise);
  go_on_if_elected();
}

/// Continues if enough voters have promised. A value that an earlier ballot may have decided comes
/// first.
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

/// Proposes a record. The first one of a job has no voters before it, and counts at once.
caf::result<void> VoterState::propose(const Record& record) {
  if (!last_ || last_->job != record.job) {
    adopt(record);
    return caf::unit;
  }
  if (!decree_ || !decree_->may_propose() || record.order() <= last_->order())
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
  look_for_replaced();
}

/// Checks periodically for replaced voters: without them the others may be enough to decide.
void VoterState::look_for_replaced() {
  const auto due = self_->clock().now() + setup_.detection / 2;
  self_->run_delayed(setup_.detection / 2, [this, order = last_->order(), due] {
    if (!decree_ || !decree_->proposed() || last_->order() != order)
      return;
    was_frozen_ |= self_->clock().now() - due > setup_.detection;
    settle_if_decided();
    if (last_->order() == order)
      look_for_replaced();
  });
}

/// Voters at whose address another process has been connected for long enough: if it were an
/// earlier process whose greeting came late, its loss would have been noticed by now. Skips
/// processes in another job: they may have begun this one again while this process was frozen.
std::set<std::size_t> VoterState::replaced_voters() const {
  std::set<std::size_t> replaced;
  const auto& voters = last_->voters;
  for (std::size_t i = 0; i < voters.size(); ++i) {
    const auto peer = peers_.find(voters[i].address);
    if (peer != peers_.end() && peer->second.process != voters[i].process &&
        !elsewhere_.contains(peer->second.process) &&
        self_->clock().now() - peer->second.since >= 2 * setup_.detection)
      replaced.insert(i);
  }
  return replaced;
}

/// Null: nothing, as far as this voter knows. After a freeze it waits for a quorum: replaced voters
/// may have found that this one does not answer, and have begun the job again.
const engine::GenerationRecord* VoterState::decided() const {
  if (!decree_)
    return nullptr;
  const auto* record = decree_->decided();
  if (record != nullptr || was_frozen_)
    return record;
  return decree_->decided_without(replaced_voters());
}

/// Ignores an acceptance that comes later than `detection` after the request, and asks again. If
/// this process was frozen, the voter may have restarted, and a node that begins the job again
/// counts its vote as lost.
void VoterState::ask_to_accept(std::size_t voter) {
  const auto* peer = peer_of(last_->voters[voter]);
  if (peer == nullptr)
    return; // until it is met
  self_->request(*peer, caf::infinite, atom::propose_v, *last_, *decree_->proposed())
      .then(
          [this, voter, order = last_->order(), asked = self_->clock().now()](std::int64_t ballot) {
            if (last_->order() != order || !decree_ || !decree_->proposed())
              return;
            heard_ = std::max(heard_, ballot);
            if (ballot > decree_->proposed()->ballot)
              return lose_vote();
            if (self_->clock().now() - asked > setup_.detection)
              return ask_to_accept(voter);
            decree_->note(voter, ballot);
            settle_if_decided();
          },
          [](const caf::error&) {});
}

/// A voter has promised a higher ballot. The leader asks again; an elected node gives way.
void VoterState::lose_vote() {
  if (leads())
    return campaign_in(setup_.detection / 4);
  refuse_wish();
  forget_place();
  campaign_in(setup_.detection);
}

void VoterState::settle_if_decided() {
  const auto* found = decided();
  if (found == nullptr)
    return;
  const auto record = *found;
  auto wish = std::exchange(wish_, std::nullopt);
  adopt(record);
  tell_all(record);
  if (!wish)
    return;
  if (is_same(wish->record, record))
    wish->decided.deliver();
  else
    wish->decided.deliver(carry({Errc::network, "another generation was decided already"}));
}

void VoterState::refuse_wish() {
  if (wish_)
    std::exchange(wish_, std::nullopt)
        ->decided.deliver(carry({Errc::network, "another node leads the job now"}));
}

} // namespace troupe::actors
