/// The sections of the config that say how daemons find, trust and wait for each other.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Files in PEM format. All three or none: both sides of a connection show a certificate of `ca`.
struct TlsConfig {
  std::optional<std::string> certificate; ///< this node's, its chain behind it
  std::optional<std::string> key;         ///< of the certificate, without a passphrase
  std::optional<std::string> ca;          ///< signs the certificates that are trusted
  /// A peer's certificate has to be for one of these; empty: any of the authority's will do.
  std::vector<std::string> names = {};

  bool enabled() const { return certificate && key && ca; }

  bool operator==(const TlsConfig&) const = default;
};

/// heartbeat < detection < form < quorum, detection < collective < quorum, heartbeat < handshake,
/// and collective <= drain: what is noticed first has the shorter time, so that an error names its
/// cause.
struct TimeoutsConfig {
  std::chrono::milliseconds heartbeat{100};    ///< between two heartbeats of a node
  std::chrono::milliseconds handshake{10000};  ///< for whoever connects to say who it is
  std::chrono::milliseconds detection{2000};   ///< without one, a node is dead
  std::chrono::milliseconds admission{2000};   ///< of a newcomer, before others halt for it
  std::chrono::milliseconds form{30000};       ///< for nodes to come together again
  std::chrono::milliseconds collective{60000}; ///< a collective that takes longer has failed
  std::chrono::milliseconds quorum{300000};    ///< for min_nodes to come together
  std::chrono::milliseconds drain{60000};      ///< from the first SIGTERM to a hard end

  bool operator==(const TimeoutsConfig&) const = default;
};

struct ClusterConfig {
  std::string listen = "127.0.0.1:7401"; ///< where the daemon answers status, stop and joiners
  std::optional<std::string> advertise;  ///< HOST:PORT that other nodes reach it by; null: listen
  std::int64_t data_port = 0;            ///< where ranks of other nodes connect; 0: a free one
  std::vector<std::string> join;         ///< HOST:PORT of daemons to join; empty: leader
  std::int64_t min_nodes = 1;            ///< the job starts with so many
  std::int64_t max_nodes = 1;            ///< more wait as spares
  bool insecure = false;                 ///< listen off loopback without TLS
  TlsConfig tls;
  TimeoutsConfig timeouts;

  bool operator==(const ClusterConfig&) const = default;
};

} // namespace troupe
