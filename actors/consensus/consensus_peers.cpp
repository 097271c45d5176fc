// Connections between the CONSENSUS actors of different nodes, and their loss.
#include "actors/caf_error.hpp"
#include "actors/consensus/consensus.hpp"

#include <algorithm>

namespace troupe::actors {

caf::result<training::Voter, peer_actor> ConsensusState::add_peer(const training::Voter& who,
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

/// Sends a new peer what it may have missed: the last record, the address to gather at, a proposal.
void ConsensusState::tell(const training::Voter& who, const peer_actor& peer) {
  self_->send(peer, atom::decided_v, *last_);
  if (gathers_here())
    self_->send(peer, atom::lead_v, *last_, setup_.self.address, gathers_by_);
  const auto vote = std::ranges::find(last_->voters, who);
  if (vote != last_->voters.end() && instance_ && instance_->proposed())
    ask_to_accept(static_cast<std::size_t>(vote - last_->voters.begin()));
  else if (has_lost_leader_ && gathers_at_.empty())
    campaign_in(campaign_delay());
}

const peer_actor* ConsensusState::peer_of(const training::Voter& voter) const {
  const auto peer = peers_.find(voter.address);
  return peer != peers_.end() && peer->second.process == voter.process ? &peer->second.voter
                                                                       : nullptr;
}

void ConsensusState::peer_down(const caf::down_msg& down) {
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
    campaign_in(campaign_delay());
  }
  reconnect_later();
}

/// If the voter reconnects, it is asked again. If not, others may count its vote as lost.
void ConsensusState::forget_vote(const training::Voter& gone) {
  const auto& voters = last_->voters;
  const auto vote = std::ranges::find(voters, gone);
  if (instance_ && vote != voters.end())
    instance_->forget_acceptance(static_cast<std::size_t>(vote - voters.begin()));
}

/// Addresses that this node has to be connected to: all voters; if it is a voter, all nodes and
/// spares.
std::set<std::string> ConsensusState::others() const {
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

void ConsensusState::connect_to_peers() {
  constexpr int io_deadline = 2; // the other node may not know that it is to connect
  bool is_missing = false;
  for (const auto& address : others())
    if (!peers_.contains(address)) {
      is_missing = true;
      if (setup_.self.address < address || missed_[address]++ >= io_deadline)
        dial(address);
    }
  if (is_missing)
    reconnect_later();
}

void ConsensusState::reconnect_later() {
  if (std::exchange(reconnects_later_, true))
    return;
  self_->run_delayed(setup_.detection / 2, [this] {
    reconnects_later_ = false;
    connect_to_peers();
  });
}

void ConsensusState::dial(const std::string& address) {
  if (dialled_.insert(address).second)
    setup_.connect(address, consensus_actor{self_});
}

} // namespace troupe::actors
