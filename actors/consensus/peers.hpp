/// Connections of CONSENSUS to those of other nodes.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/membership/failure_detector.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace troupe::actors {

/// Each voter has a connection to every node of the generation. The daemon with the smaller address
/// opens it, so that there is only one. If none exists after a while, the other daemon opens it.
class Peers {
public:
  struct Peer {
    std::string process;
    peer_actor voter;
    caf::actor_clock::time_point since; ///< when it connected
  };
  /// Connects `self` with the daemon at an address. Must not block. dialled() follows.
  using Dial = std::function<void(const std::string& address, const consensus_actor& self)>;

  /// `address`: of this daemon. A node that is silent for longer than `detection` is lost.
  Peers(consensus_actor::pointer self, std::string address, std::chrono::milliseconds detection,
        Dial dial);

  const std::map<std::string, Peer>& by_address() const { return peers_; }
  /// Returns null if the voter is not connected.
  const peer_actor* find(const training::Voter& voter) const;
  void add(const training::Voter& who, const peer_actor& peer);
  /// Removes a peer that is lost. Returns its address and process; empty: it is no peer.
  std::optional<training::Voter> remove(const caf::actor_addr& peer);
  /// Connects to these addresses from now on, and again after connections are lost.
  void connect_to(std::set<std::string> addresses);
  /// Connects to the missing peers after a while.
  void reconnect_later();
  /// An attempt to connect has ended.
  void dialled(const std::string& address) { dialled_.erase(address); }

private:
  void connect();

  consensus_actor::pointer self_;
  std::string address_;
  std::chrono::milliseconds detection_;
  Dial dial_;
  FailureDetector lost_;
  std::map<std::string, Peer> peers_; ///< by address
  std::set<std::string> wanted_;      ///< addresses
  std::set<std::string> dialled_;     ///< addresses
  std::map<std::string, int> missed_; ///< waits for a node to connect, by address
  bool reconnects_later_ = false;
};

} // namespace troupe::actors
