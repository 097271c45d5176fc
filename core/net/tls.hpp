/// TLS with certificates on both sides (OpenSSL), and readable messages for its errors.
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

/// Both sides are verified: each shows a certificate that `tls.ca` has signed and, if `tls.names`
/// is not empty, that is for one of these names. The name is not compared with the host's, because
/// addresses of nodes change. Each connection verifies certificates; sessions are not resumed.
/// Precondition: tls.enabled(). Error: invalid_input, with the key, the file and the reason: the
/// file is missing or damaged, does not match the others, has expired, or is a private key that
/// every user can read or write.
Result<TlsContext> open_tls(const TlsConfig& tls);

/// The error of the session's last call, as text.
struct TlsProblem {
  bool distrusted = false; ///< this side rejected the peer's certificate
  bool refused = false;    ///< the peer rejected this side's certificate, or its absence
  bool may_pass = false;   ///< it may go away: clocks, a lost connection
  std::string why;
};
TlsProblem tls_problem(const SSL& session);

} // namespace troupe::net
