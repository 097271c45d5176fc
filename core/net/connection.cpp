#include "core/net/connection.hpp"

#include "core/fail.hpp"
#include "core/net/tls.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

namespace troupe::net {

namespace {

constexpr auto closed = "it has closed the connection";

/// OpenSSL counts in int.
int in_one_call(std::size_t bytes) {
  return static_cast<int>(std::min<std::size_t>(bytes, INT_MAX));
}

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

} // namespace

void Connection::FreeSession::operator()(ssl_st* session) const {
  SSL_free(session);
}

Connection::Connection(Descriptor socket, ssl_ctx_st* tls, Side side, std::string name)
    : socket_{std::move(socket)}, name_{std::move(name)}, read_events_{POLLIN}, write_events_{
                                                                                    POLLOUT} {
  ::fcntl(number(), F_SETFL, ::fcntl(number(), F_GETFL) | O_NONBLOCK);
  const int on = 1; // sends small messages at once, such as a step's votes
  ::setsockopt(number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (!tls)
    return;
  session_.reset(SSL_new(tls));
  SSL_set_fd(session_.get(), number());
  SSL_set_mode(session_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_set_num_tickets(session_.get(), 0); // they would stay unread if one end only writes
  side == Side::connects ? SSL_set_connect_state(session_.get())
                         : SSL_set_accept_state(session_.get());
}

Result<std::size_t> Connection::read(std::span<std::byte> to) {
  if (session_) {
    ERR_clear_error();
    return moved(SSL_read(session_.get(), to.data(), in_one_call(to.size())), read_events_, POLLIN);
  }
  const auto count = ::recv(number(), to.data(), to.size(), 0);
  if (count > 0)
    return static_cast<std::size_t>(count);
  if (count == 0)
    return broken(closed);
  return would_block(errno) ? Result<std::size_t>{0} : broken(std::strerror(errno));
}

Result<std::size_t> Connection::write(std::span<const std::byte> from, bool more) {
  if (session_) {
    ERR_clear_error();
    return moved(SSL_write(session_.get(), from.data(), in_one_call(from.size())), write_events_,
                 POLLOUT);
  }
  const auto count =
      ::send(number(), from.data(), from.size(), MSG_NOSIGNAL | (more ? MSG_MORE : 0));
  if (count >= 0)
    return static_cast<std::size_t>(count);
  return would_block(errno) ? Result<std::size_t>{0} : broken(std::strerror(errno));
}

/// A TLS session may have to read before it can write, and the reverse.
Result<std::size_t> Connection::moved(int result, short& events, short default_value) {
  events = default_value;
  if (result > 0)
    return static_cast<std::size_t>(result);
  switch (SSL_get_error(session_.get(), result)) {
  case SSL_ERROR_WANT_READ:
    events = POLLIN;
    return 0;
  case SSL_ERROR_WANT_WRITE:
    events = POLLOUT;
    return 0;
  case SSL_ERROR_ZERO_RETURN:
    return broken(closed);
  default:
    return ERR_peek_error() == 0 && SSL_is_init_finished(session_.get())
               ? broken(closed)
               : broken(tls_problem(*session_).why);
  }
}

tl::unexpected<Error> Connection::broken(const std::string& why) const {
  return fail(Errc::network, "{}: {}", name_, why);
}

void Connection::shut_down() const {
  ::shutdown(number(), SHUT_RDWR);
}

} // namespace troupe::net
