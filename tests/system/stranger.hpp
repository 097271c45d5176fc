/// A client that connects to a daemon and violates the protocol.
#pragma once

#include "core/net/descriptor.hpp"
#include "core/net/tls.hpp"
#include "core/units.hpp"

#include <chrono>
#include <optional>
#include <string_view>

namespace troupe::testing {

/// A connection. Failed sends and reads are not errors: daemons may close it at any time.
class Stranger {
public:
  /// With TLS, uses a certificate that the daemon trusts, and waits until the handshake is
  /// complete.
  explicit Stranger(const Endpoint& daemon, const std::optional<TlsConfig>& tls = {});

  void send(std::string_view bytes);
  /// Closes without a shutdown: the other side sees its connection reset.
  void break_off();
  /// Reads all available bytes. Returns true once the daemon has closed the connection.
  bool sees_the_end();

private:
  net::Descriptor socket_;
  net::TlsContext context_;
  net::TlsSession session_;
};

} // namespace troupe::testing
