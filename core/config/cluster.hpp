/// The config section cluster: how daemons find, trust and wait for each other.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Files in PEM format. All three or none: both sides of a connection show a certificate signed by
/// `ca`.
struct TlsConfig {
  std::optional<std::string> certificate; ///< this node's, followed by its chain
  std::optional<std::string> key;         ///< of the certificate, without a passphrase
  std::optional<std::string> ca;          ///< signs the trusted certificates
  /// Names of which a peer's certificate must have one; empty: any certificate of the authority is
  /// accepted.
  std::vector<std::string> names = {};

  bool enabled() const { return certificate && key && ca; }

  bool operator==(const TlsConfig&) const = default;
};

/// detection < rejoin < quorum, detection < collective < quorum, and collective <= drain: the check
/// that notices a problem first has the shorter timeout, so that an error names its cause.
struct TimeoutsConfig {
  std::chrono::milliseconds detection{2000};   ///< a node without a heartbeat for this long is dead
  std::chrono::milliseconds rejoin{30000};     ///< for the nodes to build the next generation
  std::chrono::milliseconds collective{60000}; ///< a longer collective has failed
  std::chrono::milliseconds quorum{300000};    ///< for nodes.min to come together
  std::chrono::milliseconds drain{60000};      ///< from the first SIGTERM to a forced end

  // Follow from detection unless a test sets them; the functions return the value that applies.
  std::optional<std::chrono::milliseconds> heartbeat = {};
  std::optional<std::chrono::milliseconds> handshake = {};
  std::optional<std::chrono::milliseconds> admission = {};

  /// Time between two heartbeats of a node: a twentieth of detection, 100 ms by default.
  std::chrono::milliseconds heartbeat_interval() const {
    return heartbeat.value_or(std::max(detection / 20, std::chrono::milliseconds{1}));
  }
  /// Time for a new connection to complete its handshake: five times detection, 10 s by default.
  std::chrono::milliseconds handshake_timeout() const { return handshake.value_or(5 * detection); }
  /// Time that a joining node stays connected before the others stop for it: detection.
  std::chrono::milliseconds admission_delay() const { return admission.value_or(detection); }

  bool operator==(const TimeoutsConfig&) const = default;
};

struct ClusterConfig {
  std::string listen = "127.0.0.1:7401"; ///< address for status and stop requests and joining nodes
  std::optional<std::string> advertise;  ///< HOST:PORT under which other nodes reach it; null:
                                         ///< listen
  std::int64_t data_port = 0;            ///< port for ranks of other nodes; 0: a free one
  std::vector<std::string> join;         ///< HOST:PORT of daemons to join; empty: leader
  std::int64_t min_nodes = 1;            ///< the job starts with this many
  std::int64_t max_nodes = 1;            ///< further nodes wait as spares
  bool insecure = false;                 ///< allows listening beyond loopback without TLS
  TlsConfig tls;
  TimeoutsConfig timeouts;

  bool operator==(const ClusterConfig&) const = default;
};

} // namespace troupe
