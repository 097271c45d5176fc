/// Somebody who connects to a daemon and does not keep to the protocol.
#pragma once

#include "core/net/descriptor.hpp"
#include "core/net/tls.hpp"
#include "core/units.hpp"

#include <chrono>
#include <optional>
#include <string_view>

namespace troupe::testing {

/// A connection. What cannot be sent or read any more is no error: daemons may close it at any
/// time.
class Stranger {
public:
  /// With TLS, he has a certificate that the daemon trusts, and waits until he is let in.
  explicit Stranger(const Endpoint& daemon, const std::optional<TlsConfig>& tls = {});

  void send(std::string_view bytes);
  /// Closes without a word: the other side sees its connection reset.
  void break_off();
  /// Reads what there is; true once the daemon has closed the connection.
  bool sees_the_end();

private:
  net::Descriptor socket_;
  net::TlsContext context_;
  net::TlsSession session_;
};

} // namespace troupe::testing
