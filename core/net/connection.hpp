/// A non-blocking TCP connection, over TLS if certificates are configured. Callers wait for it in
/// poll(2), together with their other descriptors.
#pragma once

#include "core/error.hpp"
#include "core/net/descriptor.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

struct ssl_st; // OpenSSL's SSL, and SSL_CTX
struct ssl_ctx_st;

namespace troupe::net {

enum class Side : bool { connects, accepts };

/// Threads that write to it must block SIGPIPE (sigpipe.hpp), because OpenSSL's writes can raise
/// it.
class Connection {
public:
  Connection() = default;
  /// `tls` may be null (plain TCP); it must outlive the connection. `name`: of the other end.
  Connection(Descriptor socket, ssl_ctx_st* tls, Side side, std::string name);

  explicit operator bool() const { return static_cast<bool>(socket_); }
  int number() const { return socket_.number(); }
  const std::string& name() const { return name_; }

  /// Return how many bytes were transferred; 0 if none can be now. With `more`, small data may wait
  /// for the next write. Errors: network when the other end has closed the connection, or any
  /// system error.
  Result<std::size_t> read(std::span<std::byte> to);
  Result<std::size_t> write(std::span<const std::byte> from, bool more = false);
  /// The poll(2) events to wait for after a call that has transferred nothing.
  short read_events() const { return read_events_; }
  short write_events() const { return write_events_; }
  /// Closes the connection for both ends. Any thread may call it.
  void shut_down() const;

private:
  struct FreeSession {
    void operator()(ssl_st* session) const;
  };
  Result<std::size_t> moved(int result, short& events, short default_value);
  tl::unexpected<Error> broken(const std::string& why) const;

  Descriptor socket_;
  std::unique_ptr<ssl_st, FreeSession> session_; ///< null: plain TCP
  std::string name_;
  short read_events_ = 0, write_events_ = 0;
};

} // namespace troupe::net
