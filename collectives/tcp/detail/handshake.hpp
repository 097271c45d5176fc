/// The first 48 bytes on a connection of the data plane.
#pragma once

#include "collectives/tcp/data_plane.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace troupe::collectives {

/// The first half of an HMAC-SHA256 (RFC 2104).
using Proof = std::array<std::byte, 16>;

/// Valid for one connection: the listener takes each nonce once.
struct Handshake {
  Proof link = {};  ///< which connection it opens: link_proof()
  Proof nonce = {}; ///< random
  Proof seal = {};  ///< proof of both, by a process that knows the secret

  bool operator==(const Handshake&) const = default;
};
static_assert(sizeof(Handshake) == 48);

GenerationKey generation_key(std::int64_t generation, const std::string& secret);
Proof link_proof(const GenerationKey& key, const LinkName& link);
/// Error: internal, where the system gives no random bytes.
Result<Handshake> make_handshake(const GenerationKey& key, const LinkName& link);
/// Of a probe: a hello that opens nothing, but is answered (data_plane.hpp).
GenerationKey probe_key(const std::string& ticket);
/// The link that a probe of this node's data port names.
LinkName probed_link(const std::string& node);
/// By a process that knows the ticket, to this hello.
Proof probe_answer(const Handshake& handshake, const GenerationKey& key);
bool is_sealed(const Handshake& handshake, const GenerationKey& key);

} // namespace troupe::collectives
