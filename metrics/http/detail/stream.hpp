/// A plain or TLS connection, usable as an Asio stream.
#pragma once

#include <optional>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>

namespace troupe::metrics {

class HttpStream {
public:
  using Socket = boost::asio::ip::tcp::socket;
  using Tls = boost::asio::ssl::stream<Socket&>;
  using executor_type = Socket::executor_type;

  explicit HttpStream(Socket socket) : socket_{std::move(socket)} {}

  executor_type get_executor() { return socket_.get_executor(); }
  Socket& socket() { return socket_; }
  /// Empty if plain.
  std::optional<Tls>& tls() { return tls_; }
  Tls& secure(boost::asio::ssl::context& context) { return tls_.emplace(socket_, context); }

  template <class Buffers, class Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls_)
      tls_->async_read_some(buffers, std::forward<Handler>(handler));
    else
      socket_.async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <class Buffers, class Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_)
      tls_->async_write_some(buffers, std::forward<Handler>(handler));
    else
      socket_.async_write_some(buffers, std::forward<Handler>(handler));
  }

private:
  Socket socket_;
  std::optional<Tls> tls_;
};

} // namespace troupe::metrics
