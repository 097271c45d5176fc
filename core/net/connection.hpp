/// A TCP connection that never blocks, over TLS where there are certificates. Whoever waits for it
/// does so in poll(2), with what else he waits for.
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

/// Threads that write to it block SIGPIPE (sigpipe.hpp): OpenSSL cannot do without.
class Connection {
public:
  Connection() = default;
  /// `tls` may be null: plain TCP; it must live as long as this. `name`: of the other end.
  Connection(Descriptor socket, ssl_ctx_st* tls, Side side, std::string name);

  explicit operator bool() const { return static_cast<bool>(socket_); }
  int number() const { return socket_.number(); }
  const std::string& name() const { return name_; }

  /// How many bytes have moved; 0: none can now. With `more`, a little waits for what is written
  /// next. Errors: network: the other end has closed it, or whatever the system says.
  Result<std::size_t> read(std::span<std::byte> to);
  Result<std::size_t> write(std::span<const std::byte> from, bool more = false);
  /// For poll(2), when a call has moved nothing: what it waits for.
  short read_events() const { return read_events_; }
  short write_events() const { return write_events_; }
  /// Both ends see it closed. May be called from any thread.
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
