#include "metrics/http/detail/session.hpp"

#include "metrics/http/detail/server.hpp"

#include <algorithm>
#include <limits>
#include <sstream>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/detect_ssl.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

namespace troupe::metrics {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::size_t request_limit = 16384;
constexpr int follower_send_buffer = 128 << 10; ///< bytes that the system buffers for a follower

/// The client's address; unspecified if the client has disconnected.
asio::ip::address address_of(const HttpStream::Socket& socket) {
  boost::system::error_code gone;
  const auto address = socket.remote_endpoint(gone).address();
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  return address;
}

/// The address; for IPv6 its /64 network, in which one host can use every address.
std::string network_of(const asio::ip::address& address) {
  if (!address.is_v6())
    return address.to_string();
  auto bytes = address.to_v6().to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), 0);
  return asio::ip::address_v6{bytes}.to_string();
}

/// Whether the bytes are not an HTTP/1 request. A request that ends early or is too long is not
/// nonsense.
bool is_nonsense(const boost::system::error_code& error) {
  return error.category() == make_error_code(http::error::bad_method).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message &&
         error != http::error::header_limit && error != http::error::buffer_overflow;
}

template <class Text>
std::string text_of(const Text& view) {
  return {view.data(), view.size()};
}

beast::string_view beast_view(std::string_view text) {
  return {text.data(), text.size()};
}

std::string head_of(const HttpAnswer& answer) {
  http::response_header<> head;
  head.version(11);
  head.result(answer.status);
  head.set(http::field::content_type, beast_view(answer.content_type));
  if (!answer.followed)
    head.set(http::field::content_length, std::to_string(answer.body.size()));
  head.set(http::field::cache_control, "no-store");
  head.set(http::field::connection, "close");
  for (const auto& [name, value] : answer.headers)
    head.set(beast_view(name), beast_view(value));
  std::ostringstream text;
  text << head;
  return text.str();
}

} // namespace

HttpSession::HttpSession(HttpStream::Socket socket, HttpServer& server)
    : stream_{std::move(socket)}, server_{server}, address_{address_of(stream_.socket())},
      buffer_{request_limit}, deadline_{Clock::now() + server.times().to_ask} {
  parser_.header_limit(request_limit);
  parser_.body_limit(std::numeric_limits<std::uint64_t>::max()); // no body is read
  boost::system::error_code ignored;
  stream_.socket().set_option(asio::ip::tcp::no_delay{true}, ignored);
}

void HttpSession::end() {
  if (std::exchange(ended_, true))
    return;
  boost::system::error_code ignored;
  stream_.socket().close(ignored);
  server_.remove(*this);
}

void HttpSession::start() {
  beast::async_detect_ssl(stream_.socket(), buffer_,
                          [self = shared_from_this()](const Error& error, bool secure) {
                            if (error || (secure && !self->server_.https()))
                              self->end();
                            else if (secure)
                              self->shake_hands();
                            else
                              self->receive();
                          });
}

void HttpSession::shake_hands() {
  stream_.secure(*server_.https())
      .async_handshake(asio::ssl::stream_base::server, buffer_.data(),
                       [self = shared_from_this()](const Error& error, std::size_t used) {
                         self->buffer_.consume(used);
                         if (error)
                           self->end();
                         else
                           self->receive();
                       });
}

void HttpSession::receive() {
  http::async_read_header(
      stream_, buffer_, parser_,
      [self = shared_from_this()](const Error& error, std::size_t) { self->received(error); });
}

void HttpSession::received(const Error& error) {
  if (ended_ || (error && !is_nonsense(error)))
    return end();
  const auto answer =
      error ? HttpAnswer{.status = 400, .body = "this is an HTTP/1 server\n"} : this->answer();
  buffer_.clear();
  buffer_.shrink_to_fit();
  const bool whole = error || parser_.get().method() != http::verb::head;
  if (answer.followed && whole)
    return follow(answer);
  phase_ = Phase::sending;
  deadline_ = Clock::now() + server_.times().to_take;
  outgoing_ = std::make_shared<const std::string>(head_of(answer) + (whole ? answer.body : ""));
  write();
}

HttpAnswer HttpSession::answer() {
  const auto& request = parser_.get();
  // Prometheus and compatible scrapers send their timeout with each scrape.
  if (request.count("X-Prometheus-Scrape-Timeout-Seconds") > 0)
    scrape_ = Clock::now();
  if (request.method() != http::verb::get && request.method() != http::verb::head)
    return {.status = 405, .body = "only GET and HEAD are allowed\n"};
  auto answer = server_.answer(question());
  if (answer.followed && server_.followers().count() >= Followers::most)
    return {
        .status = 503,
        .body =
            "too many clients already follow this run: close one of its pages, or use /run.json\n"};
  return answer;
}

HttpQuestion HttpSession::question() {
  const auto& request = parser_.get();
  const auto target = text_of(request.target());
  return {.path = target.substr(0, target.find('?')),
          .host = text_of(request[http::field::host]),
          .authorization = text_of(request[http::field::authorization]),
          .from = network_of(address_),
          .local = address_.is_loopback(),
          .secure = stream_.tls().has_value()};
}

void HttpSession::follow(const HttpAnswer& answer) {
  boost::system::error_code ignored;
  stream_.socket().set_option(asio::socket_base::send_buffer_size{follower_send_buffer}, ignored);
  phase_ = Phase::following;
  head_ = head_of(answer);
  watch_for_end();
  server_.followers().add(*this);
}

/// Ends the session as soon as the follower disconnects.
void HttpSession::watch_for_end() {
  stream_.async_read_some(asio::buffer(unwanted_),
                          [self = shared_from_this()](const Error&, std::size_t) { self->end(); });
}

void HttpSession::send(EventText event) {
  outgoing_ = head_.empty()
                  ? std::move(event)
                  : std::make_shared<const std::string>(std::exchange(head_, {}) + *event);
  deadline_ = Clock::now() + server_.times().to_take;
  write();
}

void HttpSession::write() {
  stream_.async_write_some(asio::buffer(*outgoing_) + sent_,
                           [self = shared_from_this()](const Error& error, std::size_t count) {
                             self->written(error, count);
                           });
}

void HttpSession::written(const Error& error, std::size_t count) {
  if (error || ended_)
    return end();
  sent_ += count;
  if (follows())
    deadline_ = Clock::now() + server_.times().to_take;
  if (sent_ < outgoing_->size())
    return write();
  outgoing_ = nullptr;
  sent_ = 0;
  if (follows())
    deadline_ = Clock::time_point::max(); // nothing is being sent
  else
    finish();
}

void HttpSession::finish() {
  phase_ = Phase::draining;
  deadline_ = Clock::now() + server_.times().to_go;
  if (auto& tls = stream_.tls())
    return tls->async_shutdown(
        [self = shared_from_this()](const Error& error) { self->drained(error); });
  boost::system::error_code ignored;
  stream_.socket().shutdown(HttpStream::Socket::shutdown_send, ignored);
  drain();
}

/// Reads until the client closes: closing a socket with unread data discards data that was sent.
void HttpSession::drain() {
  stream_.async_read_some(asio::buffer(unwanted_),
                          [self = shared_from_this()](const Error& error, std::size_t) {
                            if (error || self->ended_)
                              self->drained(error);
                            else
                              self->drain();
                          });
}

/// A client that closes the connection has read the whole response.
void HttpSession::drained(const Error& error) {
  const bool taken = error
                         ? error == asio::error::eof || error == asio::ssl::error::stream_truncated
                         : stream_.tls().has_value();
  if (scrape_ && taken && !ended_)
    server_.note_scrape(*scrape_);
  end();
}

} // namespace troupe::metrics
