#include "collectives/data_plane/detail/handshake.hpp"

#include "core/fail.hpp"
#include "core/net/sigpipe.hpp"
#include "core/net/socket.hpp"
#include "core/net/wait.hpp"

#include <algorithm>
#include <string_view>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

namespace troupe::collectives {

namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

GenerationKey hmac(std::string_view key, std::string_view text) {
  GenerationKey digest = {};
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(),
       reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  return digest;
}

Proof proof_of(const GenerationKey& key, std::string_view text) {
  const auto digest = hmac(text_of(key), text);
  Proof proof = {};
  std::copy_n(digest.begin(), proof.size(), proof.begin());
  return proof;
}

Proof seal_of(const Handshake& handshake, const GenerationKey& key) {
  return proof_of(key,
                  fmt::format("hello {}{}", text_of(handshake.link), text_of(handshake.nonce)));
}

} // namespace

GenerationKey generation_key(std::int64_t generation, const std::string& secret) {
  return hmac(secret, fmt::format("troupe data 3: generation {}", generation));
}

GenerationKey probe_key(const std::string& ticket) {
  return hmac(ticket, "troupe data 3: probe");
}

LinkName probed_link(const std::string& node) {
  return {.group = "probe of " + node};
}

Proof probe_answer(const Handshake& handshake, const GenerationKey& key) {
  return proof_of(key, fmt::format("answer {}", text_of(handshake.nonce)));
}

Proof link_proof(const GenerationKey& key, const LinkName& link) {
  return proof_of(key, fmt::format("link {} {} {}", link.from, link.to, link.group));
}

Result<Handshake> make_handshake(const GenerationKey& key, const LinkName& link) {
  Handshake handshake{.link = link_proof(key, link)};
  if (RAND_bytes(reinterpret_cast<unsigned char*>(handshake.nonce.data()),
                 static_cast<int>(handshake.nonce.size())) != 1)
    return fail(Errc::internal, "the system provides no random bytes for a connection");
  handshake.seal = seal_of(handshake, key);
  return handshake;
}

/// Takes the same time for any number of correct bytes in the seal.
bool is_sealed(const Handshake& handshake, const GenerationKey& key) {
  const auto seal = seal_of(handshake, key);
  return CRYPTO_memcmp(handshake.seal.data(), seal.data(), seal.size()) == 0;
}

Result<net::Connection> open_connection(ssl_ctx_st* tls, const Endpoint& to,
                                        const Handshake& handshake,
                                        std::chrono::steady_clock::time_point end,
                                        const net::Wakeup& cancelled) {
  const net::NoSigpipe no_sigpipe;
  TROUPE_TRY(auto socket, net::connect_to(to, net::time_until(end), cancelled));
  net::Connection connection{std::move(socket), tls, net::Side::connects, to_string(to)};
  TROUPE_TRY(net::write_all(connection, std::as_bytes(std::span{&handshake, 1}),
                            {net::time_until(end), &cancelled}));
  return connection;
}

} // namespace troupe::collectives
