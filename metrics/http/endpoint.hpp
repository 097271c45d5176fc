/// An HTTP server for Prometheus, health checks and the page of a run.
#pragma once

#include "core/error.hpp"
#include "core/units.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::metrics {

/// Whether the process trains, and what it does.
struct Readiness {
  bool ready = false;
  std::string why; ///< "training", "waits for 2 of 4 workers"
};

/// Data of the page of a running process. The server calls these only on its thread.
struct PageSources {
  std::function<std::string()> document; ///< the whole document (docs/files.md), as JSON
  std::function<std::string()> changes;  ///< changes since the last call, as JSON; empty: none
  /// Called with true when the first client begins to follow, with false when the last one leaves.
  std::function<void(bool)> watched;
};

/// Callbacks of the server, called on its thread.
struct EndpointSources {
  std::function<std::string()> metrics;
  std::function<Readiness()> readiness;
  std::function<std::string()> targets; ///< ScrapeTargets::json
  PageSources page = {};                ///< no document: no page is served
};

/// Certificate and password. The page is shown to other hosts only if both are set.
struct EndpointSecurity {
  std::optional<std::string> certificate = {}; ///< a PEM file; together with `key` enables HTTPS
  std::optional<std::string> key = {};
  std::optional<std::string> password = {}; ///< not set: the page is only shown to this host
};

/// Returns the only line of a file that no user but its owner may access: the page's password.
/// Error: invalid_input, with the file and the reason.
Result<std::string> read_password(const std::string& file);

/// Timeouts of clients, and the interval of events. Tests use shorter ones.
struct EndpointTimes {
  std::chrono::milliseconds to_ask{5000};
  std::chrono::milliseconds to_take{30000}; ///< a response; for a follower, part of an event
  std::chrono::milliseconds to_go{5000};    ///< to close after the response
  std::chrono::milliseconds tick{1000};
};

class HttpServer;

/// Answers /metrics, /sd (the endpoints of all nodes), /healthz (200 while the process lives) and
/// /readyz (200 or 503, with a reason) to every client. Answers the page of the run (/, /run.json,
/// /events, /report.html) to this host, and to other hosts over TLS with the password.
///
/// Runs one thread with asynchronous I/O: a slow client does not delay others, and shutdown is
/// immediate (docs/adr/0024-the-endpoint-on-beast.md).
class HttpEndpoint {
public:
  using Clock = std::chrono::steady_clock;

  /// Starts the server. `listen` is metrics.listen: HOST:PORT; port 0 takes a free port. Errors:
  /// network, if it cannot listen there; invalid_input, if the certificate or its key cannot be
  /// used.
  static Result<std::unique_ptr<HttpEndpoint>> start(std::string_view listen,
                                                     EndpointSources sources,
                                                     const EndpointSecurity& security = {},
                                                     const EndpointTimes& times = {});
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;
  /// No callback runs after the destructor returns.
  ~HttpEndpoint();

  const Endpoint& endpoint() const { return address_; }
  std::uint16_t port() const { return address_.port; }
  /// The time at which the values of the newest scrape that reached Prometheus were read; empty:
  /// none.
  std::optional<Clock::time_point> last_scrape() const;
  std::string address() const { return to_string(address_); } ///< "127.0.0.1:9401"

private:
  HttpEndpoint(Endpoint address, std::unique_ptr<HttpServer> server);

  Endpoint address_;
  std::unique_ptr<HttpServer> server_;
};

} // namespace troupe::metrics
