/// A client connection: its request and the response, or the event stream that it follows.
#pragma once

#include "metrics/http/detail/answer.hpp"
#include "metrics/http/detail/followers.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

namespace troupe::metrics {

/// A plain or TLS connection, usable as an Asio stream.
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

class HttpServer;

/// Kept alive by the server's list and by pending operations.
class HttpSession final : public EventSink, public std::enable_shared_from_this<HttpSession> {
public:
  using Clock = std::chrono::steady_clock;

  HttpSession(HttpStream::Socket socket, HttpServer& server);

  void start();
  /// Closes the connection and removes the session from the server's list.
  void end();
  Clock::time_point deadline() const { return deadline_; }
  bool follows() const { return phase_ == Phase::following; }

  bool is_free() const override { return outgoing_ == nullptr; }
  void send(EventText event) override;

private:
  using Error = boost::system::error_code;
  enum class Phase : std::uint8_t { receiving, sending, following, draining };

  void shake_hands();
  void receive();
  void received(const Error& error);
  HttpAnswer answer();
  HttpQuestion question();
  void follow(const HttpAnswer& answer);
  void watch_for_end();
  void write();
  void written(const Error& error, std::size_t count);
  void finish();
  void drain();
  void drained(const Error& error);

  HttpStream stream_;
  HttpServer& server_;
  const boost::asio::ip::address address_; ///< of the client
  boost::beast::flat_buffer buffer_;
  boost::beast::http::request_parser<boost::beast::http::empty_body> parser_;
  std::array<char, 512> unwanted_{}; ///< bytes after the request, discarded
  EventText outgoing_;
  std::size_t sent_ = 0; ///< bytes of `outgoing_`
  std::string head_;     ///< sent with the first event
  Phase phase_ = Phase::receiving;
  bool ended_ = false;
  Clock::time_point deadline_;
  std::optional<Clock::time_point> scrape_; ///< when the response to a scraper was made
};

} // namespace troupe::metrics
