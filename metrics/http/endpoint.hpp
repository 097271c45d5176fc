/// A small HTTP server for Prometheus and for whoever supervises the process.
#pragma once

#include "detail/connection.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace troupe::metrics {

/// Whether the process does its work, and if not, why.
struct Readiness {
  bool ready = false;
  std::string why; ///< "training", "waits for 2 of 4 workers"
};

/// What the server asks, from its own thread.
struct EndpointSources {
  std::function<std::string()> metrics;
  std::function<Readiness()> readiness;
  std::function<std::string()> targets; ///< ScrapeTargets::json
};

/// Answers /metrics, /sd (the endpoints of all nodes), /healthz (200 while the process lives) and
/// /readyz (200 or 503, and why).
///
/// One thread that polls: a client that is slow or silent keeps nobody else waiting, and the end is
/// immediate (civetweb's took two seconds).
class HttpEndpoint {
public:
  /// `listen` is metrics.listen: HOST:PORT; port 0 takes a free one. Error: network, when it cannot
  /// listen there.
  static Result<std::unique_ptr<HttpEndpoint>> start(std::string_view listen,
                                                     EndpointSources sources);
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;
  /// The sources are not called afterwards.
  ~HttpEndpoint();

  const Endpoint& endpoint() const { return address_; }
  std::uint16_t port() const { return address_.port; }
  /// When the values of the newest scrape that has reached Prometheus were read; empty: none has.
  std::optional<HttpConnection::Clock::time_point> last_scrape() const;
  std::string address() const { return to_string(address_); } ///< "127.0.0.1:9401"

private:
  HttpEndpoint(Endpoint address, net::Descriptor listener, net::Descriptor wake,
               EndpointSources sources);
  void serve();
  void note(const HttpConnection& ended);

  static constexpr auto never = HttpConnection::Clock::time_point::min();
  Endpoint address_;
  net::Descriptor listener_;
  net::Descriptor wake_; ///< readable: end
  EndpointSources sources_;
  std::atomic<HttpConnection::Clock::time_point> last_scrape_{never};
  std::thread thread_;
};

} // namespace troupe::metrics
