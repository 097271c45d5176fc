// Elections of the next leader, and decisions of records.
#include "actors/caf_error.hpp"
#include "actors/consensus/consensus.hpp"

#include <algorithm>

namespace troupe::actors {

using namespace std::chrono_literals;

namespace {

/// Compares the secret, which is unique to a generation, and the revision, of which a leader
/// proposes one at a time.
bool is_same(const training::GenerationRecord& one, const training::GenerationRecord& other) {
  return one.secret == other.secret && one.order() == other.order() &&
         one.end.has_value() == other.end.has_value() && one.voters == other.voters;
}

} // namespace

caf::result<VoteReply> ConsensusState::vote(const Record& last, Ballot ballot) {
  if (!is_about(last))
    return VoteReply{.promise = {}, .newer = last_};
  const bool asks_leader = ballot % std::ssize(last_->voters) == 0;
  if (asks_leader || has_lost_leader_)
    return vote_reply(ballot);
  auto promise = self_->make_response_promise<VoteReply>();
  candidates_.push_back({last.order(), ballot, promise});
  return promise;
}

/// After a promise, delays this node's own campaign, longer each time. Otherwise two candidates
/// could be elected alternately forever, each before the nodes have gathered at the previous
/// winner.
VoteReply ConsensusState::vote_reply(Ballot ballot) {
  const auto promise = instance_->promise(ballot);
  if (promise.is_granted && has_lost_leader_)
    campaign_in(setup_.detection * ++yielded_);
  return {.promise = promise};
}

void ConsensusState::answer_candidates() {
  for (auto& candidate : std::exchange(candidates_, {}))
    candidate.vote_reply.deliver(instance_ && last_->order() == candidate.last
                                     ? vote_reply(candidate.ballot)
                                     : VoteReply{.promise = {}, .newer = last_});
}

Ballot ConsensusState::accept(const Record& last, const RecordProposal& proposal) {
  return is_about(last) ? instance_->accept(proposal) : -1;
}

void ConsensusState::lose_leader() {
  if (has_lost_leader_ || !last_ || leads())
    return;
  has_lost_leader_ = true;
  forget_place();
  answer_candidates();
  campaign_in(campaign_delay());
}

/// Delays later voters, so that campaigns do not disturb each other.
std::chrono::milliseconds ConsensusState::campaign_delay() const {
  const auto index = last_ ? vote_of(setup_.self, *last_).value_or(0) : 0;
  return index < 2 ? 0ms : setup_.detection / 4 * static_cast<int>(index - 1);
}

void ConsensusState::campaign_in(std::chrono::milliseconds delay) {
  self_->run_delayed(delay, [this, planned = ++campaigns_] {
    if (planned == campaigns_)
      campaign();
  });
}

/// Asks the voters for promises. Only nodes that train do so: others have no state to lead with.
void ConsensusState::campaign() {
  const bool trains = last_ && std::ranges::count(last_->nodes, setup_.self.address,
                                                  &training::MemberInfo::address) > 0;
  const bool contests = pending_proposal_ && leads();
  if (!instance_ || has_ended_ || has_left_ || !trains ||
      !(contests || (has_lost_leader_ && gathers_at_.empty())))
    return;
  const auto ballot = instance_->campaign(heard_);
  for (std::size_t i = 0; i < last_->voters.size(); ++i)
    if (const auto* peer = peers_.find(last_->voters[i]))
      self_->request(*peer, caf::infinite, atom::vote_v, *last_, ballot)
          .then(
              [this, i, order = last_->order()](const VoteReply& vote_reply) {
                if (last_->order() == order)
                  count(i, vote_reply);
              },
              [](const caf::error&) {}); // the peer is lost
  go_on_if_elected();
  campaign_in(setup_.detection);
}

void ConsensusState::count(std::size_t voter, const VoteReply& vote_reply) {
  if (vote_reply.newer)
    return learn(*vote_reply.newer);
  if (!instance_)
    return;
  heard_ = std::max(heard_, vote_reply.promise.ballot);
  const bool is_outbid = vote_reply.promise.ballot > instance_->ballot().value_or(0);
  if (is_outbid && leads()) // by a node that lost this leader for a while
    campaign_in(setup_.detection / 4);
  instance_->note(voter, vote_reply.promise);
  go_on_if_elected();
}

/// Continues if enough voters have promised. A value that an earlier ballot may have decided comes
/// first.
void ConsensusState::go_on_if_elected() {
  if (!instance_->may_propose() || instance_->proposed())
    return;
  if (const auto* bound = instance_->bound())
    put_to_vote(*bound);
  else if (pending_proposal_)
    put_to_vote(pending_proposal_->record);
  else
    move_to(setup_.self.address, *instance_->ballot());
}

/// Proposes a record. The first record of a job has no earlier voters, so it is decided at once.
caf::result<void> ConsensusState::propose(const Record& record) {
  if (!last_ || last_->job != record.job) {
    adopt(record);
    return caf::unit;
  }
  if (!instance_ || !instance_->may_propose() || record.order() <= last_->order())
    return to_caf_error({Errc::network, "another node leads the job now"});
  pending_proposal_ = {record, self_->make_response_promise<void>()};
  auto promise = pending_proposal_->decided;
  put_to_vote(record);
  return promise;
}

void ConsensusState::put_to_vote(const Record& record) {
  instance_->propose(record);
  for (std::size_t i = 0; i < last_->voters.size(); ++i)
    ask_to_accept(i);
  settle_if_decided();
  look_for_replaced();
}

/// Checks periodically for replaced voters: without them the others may be enough to decide.
void ConsensusState::look_for_replaced() {
  const auto due = self_->clock().now() + setup_.detection / 2;
  self_->run_delayed(setup_.detection / 2, [this, order = last_->order(), due] {
    if (!instance_ || !instance_->proposed() || last_->order() != order)
      return;
    was_frozen_ |= self_->clock().now() - due > setup_.detection;
    settle_if_decided();
    if (last_->order() == order)
      look_for_replaced();
  });
}

/// Returns the voters at whose address another process has been connected for so long that the loss
/// of the earlier process would have been noticed. Skips processes in another job: they may have
/// begun this job again while this process was frozen.
std::set<std::size_t> ConsensusState::replaced_voters() const {
  std::set<std::size_t> replaced;
  const auto& voters = last_->voters;
  const auto& peers = peers_.by_address();
  for (std::size_t i = 0; i < voters.size(); ++i) {
    const auto peer = peers.find(voters[i].address);
    if (peer != peers.end() && peer->second.process != voters[i].process &&
        !elsewhere_.contains(peer->second.process) &&
        self_->clock().now() - peer->second.since >= 2 * setup_.detection)
      replaced.insert(i);
  }
  return replaced;
}

/// Null: not known to be decided. After a freeze it waits for a quorum: replaced voters may have
/// found that this one does not answer, and have begun the job again.
const training::GenerationRecord* ConsensusState::decided() const {
  if (!instance_)
    return nullptr;
  const auto* record = instance_->decided();
  if (record != nullptr || was_frozen_)
    return record;
  return instance_->decided_without(replaced_voters());
}

/// Ignores an acceptance that comes later than `detection` after the request, and asks again. If
/// this process was frozen, the voter may have restarted, and a node that begins the job again
/// counts its vote as lost.
void ConsensusState::ask_to_accept(std::size_t voter) {
  const auto* peer = peers_.find(last_->voters[voter]);
  if (peer == nullptr)
    return; // asked when it connects
  self_->request(*peer, caf::infinite, atom::propose_v, *last_, *instance_->proposed())
      .then(
          [this, voter, order = last_->order(), asked = self_->clock().now()](std::int64_t ballot) {
            if (last_->order() != order || !instance_ || !instance_->proposed())
              return;
            heard_ = std::max(heard_, ballot);
            if (ballot > instance_->proposed()->ballot)
              return lose_vote();
            if (self_->clock().now() - asked > setup_.detection)
              return ask_to_accept(voter);
            instance_->note(voter, ballot);
            settle_if_decided();
          },
          [](const caf::error&) {});
}

/// A voter has promised a higher ballot. The leader asks again; an elected node gives way.
void ConsensusState::lose_vote() {
  if (leads())
    return campaign_in(setup_.detection / 4);
  refuse_pending_proposal();
  forget_place();
  campaign_in(setup_.detection);
}

void ConsensusState::settle_if_decided() {
  const auto* found = decided();
  if (found == nullptr)
    return;
  const auto record = *found;
  auto pending_proposal = std::exchange(pending_proposal_, std::nullopt);
  adopt(record);
  tell_all(record);
  if (!pending_proposal)
    return;
  if (is_same(pending_proposal->record, record))
    pending_proposal->decided.deliver();
  else
    pending_proposal->decided.deliver(
        to_caf_error({Errc::network, "another generation was decided already"}));
}

void ConsensusState::refuse_pending_proposal() {
  if (pending_proposal_)
    std::exchange(pending_proposal_, std::nullopt)
        ->decided.deliver(to_caf_error({Errc::network, "another node leads the job now"}));
}

} // namespace troupe::actors
