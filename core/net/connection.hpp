/// A non-blocking TCP connection, over TLS if certificates are configured. Callers wait for it in
/// poll(2), together with their other descriptors.
#pragma once

#include "core/error.hpp"
#include "core/net/descriptor.hpp"
#include "core/net/wait.hpp"

#include <chrono>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <memory>
#include <span>
#include <string>

struct ssl_st; // OpenSSL's SSL, and SSL_CTX
struct ssl_ctx_st;

namespace troupe::net {

enum class Side : bool { connects, accepts };

/// Threads that write to it must block SIGPIPE (NoSigpipe), because OpenSSL's writes can raise
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

/// Protects the process from libraries that write to closed sockets: SIGPIPE would end it. Blocks
/// it for this thread and the threads it starts during the lifetime: a write fails instead. Does
/// not change how the process handles the signal elsewhere.
class NoSigpipe {
public:
  NoSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    const timespec at_once = {};
    if (!sigismember(&before_, SIGPIPE))
      while (sigtimedwait(&pipe_, nullptr, &at_once) == SIGPIPE) {
      } // discards a signal that is pending: it would be delivered below
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

private:
  sigset_t pipe_ = {}, before_ = {};
};

struct IoDeadline {
  std::chrono::milliseconds timeout; ///< longest time without a transferred byte
  const Wakeup* cancelled;           ///< signalled: stop
};

/// Block until all bytes are transferred. Errors: network, with the name of the other end.
Status read_all(Connection& connection, std::span<std::byte> to, const IoDeadline& io_deadline);
Status write_all(Connection& connection, std::span<const std::byte> from,
                 const IoDeadline& io_deadline);

} // namespace troupe::net
