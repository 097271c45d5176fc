// How VOTERs of different nodes connect, and notice that one is gone.
#include "actors/cluster/carried_error.hpp"
#include "actors/cluster/voter.hpp"

#include <algorithm>

namespace troupe::actors {

caf::result<engine::Voter, peer_actor> VoterState::meet(const engine::Voter& who,
                                                        const peer_actor& peer) {
  if (!peer)
    return no_handle();
  if (const auto known = peers_.find(who.address);
      known == peers_.end() || known->second.voter != peer) {
    lost_.watch(peer);
    peers_[who.address] = {who.process, peer, self_->clock().now()};
  }
  missed_.erase(who.address);
  if (last_)
    tell(who, peer);
  return {setup_.self, peer_actor{self_}};
}

/// Sends a new peer what it may have missed: the last record, where to come together, a proposal.
void VoterState::tell(const engine::Voter& who, const peer_actor& peer) {
  self_->send(peer, atom::decided_v, *last_);
  if (gathers_here())
    self_->send(peer, atom::lead_v, *last_, setup_.self.address, gathers_by_);
  const auto vote = std::ranges::find(last_->voters, who);
  if (vote != last_->voters.end() && decree_ && decree_->proposed())
    ask_to_accept(static_cast<std::size_t>(vote - last_->voters.begin()));
  else if (has_lost_leader_ && gathers_at_.empty())
    campaign_in(turn());
}

const peer_actor* VoterState::peer_of(const engine::Voter& voter) const {
  const auto peer = peers_.find(voter.address);
  return peer != peers_.end() && peer->second.process == voter.process ? &peer->second.voter
                                                                       : nullptr;
}

void VoterState::peer_down(const caf::down_msg& down) {
  const auto gone = std::ranges::find_if(
      peers_, [&](const auto& peer) { return peer.second.voter.address() == down.source; });
  if (gone == peers_.end())
    return;
  const auto address = gone->first;
  const auto process = gone->second.process;
  peers_.erase(gone);
  if (!last_)
    return;
  forget_vote({address, process});
  if (address == last_->leader() && gathers_at_ == address) {
    lose_leader();
  } else if (address == gathers_at_) { // before it had a record decided
    forget_place();
    campaign_in(turn());
  }
  meet_again_later();
}

/// If it comes back, it is asked again. If not, others may count its vote as lost.
void VoterState::forget_vote(const engine::Voter& gone) {
  const auto& voters = last_->voters;
  const auto vote = std::ranges::find(voters, gone);
  if (decree_ && vote != voters.end())
    decree_->forget_acceptance(static_cast<std::size_t>(vote - voters.begin()));
}

/// Addresses that this node has to be connected to: all voters; as a voter, all nodes and spares.
std::set<std::string> VoterState::others() const {
  std::set<std::string> addresses;
  for (const auto& voter : last_->voters)
    addresses.insert(voter.address);
  if (own_vote(*last_)) {
    for (const auto& place : last_->nodes)
      addresses.insert(place.address);
    addresses.insert(last_->spares.begin(), last_->spares.end());
  }
  addresses.erase(setup_.self.address);
  return addresses;
}

void VoterState::meet_others() {
  constexpr int patience = 2; // the other may not know that it is to make the connection
  bool is_missing = false;
  for (const auto& address : others())
    if (!peers_.contains(address)) {
      is_missing = true;
      if (setup_.self.address < address || missed_[address]++ >= patience)
        dial(address);
    }
  if (is_missing)
    meet_again_later();
}

void VoterState::meet_again_later() {
  if (std::exchange(meets_later_, true))
    return;
  self_->run_delayed(setup_.detection / 2, [this] {
    meets_later_ = false;
    meet_others();
  });
}

void VoterState::dial(const std::string& address) {
  if (dialled_.insert(address).second)
    setup_.meet(address, voter_actor{self_});
}

} // namespace troupe::actors
