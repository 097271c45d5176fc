/// TLS with certificates on both sides (OpenSSL), and in words what is wrong with them.
#pragma once

#include "core/config/cluster.hpp"
#include "core/error.hpp"

#include <memory>

#include <openssl/ssl.h>

namespace troupe::net {

struct FreeTls {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTls>;
using TlsSession = std::unique_ptr<SSL, FreeTls>;

/// Both sides are verified: each shows a certificate that `tls.ca` has signed, for one of
/// `tls.names` where there are some. The name in it is not compared with the host's: addresses of
/// nodes change. Every connection shows certificates anew: no session is resumed. Error:
/// invalid_input, with the key, the file and why: it is missing or damaged, does not fit the
/// others, has expired, or is a private key that every user can read or write. Requires
/// tls.enabled().
Result<TlsContext> open_tls(const TlsConfig& tls);

/// What went wrong in the last call for this session, in words.
struct TlsProblem {
  bool distrusted = false; ///< the peer's certificate, by us
  bool refused = false;    ///< ours, or that there is none, by the peer
  bool may_pass = false;   ///< it is a matter of clocks, or the peer says nothing
  std::string why;
};
TlsProblem tls_problem(const SSL& session);

} // namespace troupe::net
