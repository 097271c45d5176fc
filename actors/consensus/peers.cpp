#include "actors/consensus/peers.hpp"

#include <algorithm>
#include <utility>

namespace troupe::actors {

Peers::Peers(consensus_actor::pointer self, std::string address,
             std::chrono::milliseconds detection, Dial dial)
    : self_{self}, address_{std::move(address)},
      detection_{detection}, dial_{std::move(dial)}, lost_{self, detection} {}

const peer_actor* Peers::find(const training::Voter& voter) const {
  const auto peer = peers_.find(voter.address);
  return peer != peers_.end() && peer->second.process == voter.process ? &peer->second.voter
                                                                       : nullptr;
}

void Peers::add(const training::Voter& who, const peer_actor& peer) {
  if (const auto known = peers_.find(who.address);
      known == peers_.end() || known->second.voter != peer) {
    lost_.watch(peer);
    peers_[who.address] = {who.process, peer, self_->clock().now()};
  }
  missed_.erase(who.address);
}

std::optional<training::Voter> Peers::remove(const caf::actor_addr& peer) {
  const auto gone = std::ranges::find_if(
      peers_, [&](const auto& known) { return known.second.voter.address() == peer; });
  if (gone == peers_.end())
    return std::nullopt;
  const training::Voter who{gone->first, gone->second.process};
  peers_.erase(gone);
  return who;
}

void Peers::connect_to(std::set<std::string> addresses) {
  wanted_ = std::move(addresses);
  connect();
}

void Peers::connect() {
  constexpr int most_missed = 2; // the other node may not know that it is to connect
  bool is_missing = false;
  for (const auto& address : wanted_)
    if (!peers_.contains(address)) {
      is_missing = true;
      const bool dials = address_ < address || missed_[address]++ >= most_missed;
      if (dials && dialled_.insert(address).second)
        dial_(address, consensus_actor{self_});
    }
  if (is_missing)
    reconnect_later();
}

void Peers::reconnect_later() {
  if (std::exchange(reconnects_later_, true))
    return;
  self_->run_delayed(detection_ / 2, [this] {
    reconnects_later_ = false;
    connect();
  });
}

} // namespace troupe::actors
