#include "connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

#include <poll.h>
#include <sys/socket.h>

namespace troupe::metrics {

namespace {

constexpr auto time_limit = std::chrono::seconds{5};
constexpr std::size_t request_limit = 16384;

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/// Prometheus, and what works as it does, says with each scrape how long it will wait.
bool is_scrape(std::string_view head) {
  constexpr std::string_view header = "\r\nx-prometheus-scrape-timeout-seconds:";
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return !std::ranges::search(head, header, same).empty();
}

/// The next word of a request's first line.
std::string_view take_word(std::string_view& line) {
  const auto end = line.find(' ');
  const auto word = line.substr(0, end);
  line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  return word;
}

} // namespace

HttpConnection::HttpConnection(net::Descriptor socket)
    : socket_(std::move(socket)), deadline_(Clock::now() + time_limit) {}

short HttpConnection::awaited() const {
  return phase_ == Phase::sending ? POLLOUT : POLLIN;
}

bool HttpConnection::proceed(const HttpRoutes& routes) {
  switch (phase_) {
  case Phase::receiving:
    return receive(routes);
  case Phase::sending:
    return send();
  case Phase::draining:
    return drain();
  }
  return false;
}

bool HttpConnection::receive(const HttpRoutes& routes) {
  std::array<char, 4096> piece;
  const auto count = ::recv(socket(), piece.data(), piece.size(), 0);
  if (count <= 0)
    return count < 0 && would_block();
  request_.append(piece.data(), static_cast<std::size_t>(count));
  if (request_.find("\r\n\r\n") == std::string::npos)
    return request_.size() < request_limit;
  if (is_scrape(request_))
    scrape_ = Clock::now();
  answer(std::string_view(request_).substr(0, request_.find("\r\n")), routes);
  phase_ = Phase::sending;
  return send();
}

void HttpConnection::answer(std::string_view line, const HttpRoutes& routes) {
  const auto method = take_word(line);
  const auto target = take_word(line);
  HttpAnswer result;
  if (!line.starts_with("HTTP/1."))
    result = {.status = 400, .reason = "Bad Request", .body = "this is an HTTP/1 server\n"};
  else if (method != "GET" && method != "HEAD")
    result = {.status = 405, .reason = "Method Not Allowed", .body = "only GET and HEAD\n"};
  else
    result = routes(target.substr(0, target.find('?')));
  answer_ = fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n"
                        "Cache-Control: no-store\r\nConnection: close\r\n\r\n",
                        result.status, result.reason, result.content_type, result.body.size());
  if (method != "HEAD")
    answer_ += result.body;
}

bool HttpConnection::send() {
  while (!answer_.empty()) {
    const auto count = ::send(socket(), answer_.data(), answer_.size(), MSG_NOSIGNAL);
    if (count < 0)
      return would_block();
    answer_.erase(0, static_cast<std::size_t>(count));
  }
  ::shutdown(socket(), SHUT_WR);
  phase_ = Phase::draining;
  return true;
}

/// A socket that is closed with something unread cuts off what it has sent.
bool HttpConnection::drain() {
  std::array<char, 4096> piece;
  const auto count = ::recv(socket(), piece.data(), piece.size(), 0);
  delivered_ = count == 0; // the client has closed it, having read until our end
  return count > 0 || (count < 0 && would_block());
}

} // namespace troupe::metrics
