/// One request and its answer, over a socket that does not block.
#pragma once

#include "troupe/core/net/socket.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::metrics {

struct HttpAnswer {
  int status = 200;
  std::string_view reason = "OK";
  std::string_view content_type = "text/plain; charset=utf-8";
  std::string body = {};
};

using HttpRoutes = std::function<HttpAnswer(std::string_view path)>;

class HttpConnection {
public:
  using Clock = std::chrono::steady_clock;

  explicit HttpConnection(net::Descriptor socket);

  int socket() const { return socket_.number(); }
  short awaited() const; ///< events for poll()
  Clock::time_point deadline() const { return deadline_; }

  /// When a scraper's answer was made, once it has got all of it; empty for any other client.
  std::optional<Clock::time_point> scraped() const { return delivered_ ? scrape_ : std::nullopt; }

  /// Goes on as far as possible without waiting. False: over, for good or for bad.
  bool proceed(const HttpRoutes& routes);

private:
  bool receive(const HttpRoutes& routes);
  bool send();
  bool drain();
  void answer(std::string_view request, const HttpRoutes& routes);

  enum class Phase : std::uint8_t { receiving, sending, draining };

  net::Descriptor socket_;
  Clock::time_point deadline_;
  Phase phase_ = Phase::receiving;
  std::optional<Clock::time_point> scrape_;
  bool delivered_ = false;
  std::string request_;
  std::string answer_; ///< what is still to be sent
};

} // namespace troupe::metrics
