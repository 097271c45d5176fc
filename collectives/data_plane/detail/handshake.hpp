/// The first 48 bytes on a connection of the data plane.
#pragma once

#include "collectives/data_plane/connection_group.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace troupe::collectives {

/// The first half of an HMAC-SHA256 (RFC 2104).
using Proof = std::array<std::byte, 16>;

/// Valid for one connection: the listener accepts each nonce once.
struct Handshake {
  Proof link = {};  ///< names the connection: link_proof()
  Proof nonce = {}; ///< random
  Proof seal = {};  ///< proof of link and nonce, by a process that knows the secret
};
static_assert(sizeof(Handshake) == 48);

GenerationKey generation_key(std::int64_t generation, const std::string& secret);
Proof link_proof(const GenerationKey& key, const LinkName& link);
/// Error: internal, if the system gives no random bytes.
Result<Handshake> make_handshake(const GenerationKey& key, const LinkName& link);
/// Key of a probe: a handshake that opens no connection, but is answered (data_plane.hpp).
GenerationKey probe_key(const std::string& ticket);
/// Names the link in a probe of this node's data port.
LinkName probed_link(const std::string& node);
/// Answer to this handshake, by a process that knows the ticket.
Proof probe_answer(const Handshake& handshake, const GenerationKey& key);
bool is_sealed(const Handshake& handshake, const GenerationKey& key);

/// Connects to the process that listens at `to` and sends the handshake. `tls` may be null. Blocks
/// until `end` at most, plus the time of a name lookup, or until `cancelled` is signalled. Error:
/// network.
Result<net::Connection> open_connection(ssl_ctx_st* tls, const Endpoint& to,
                                        const Handshake& handshake,
                                        std::chrono::steady_clock::time_point end,
                                        const net::Wakeup& cancelled);

} // namespace troupe::collectives
