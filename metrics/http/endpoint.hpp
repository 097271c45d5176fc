/// An HTTP server for Prometheus, for whoever supervises the process, and for the page of its run.
#pragma once

#include "core/error.hpp"
#include "core/units.hpp"
#include "metrics/http/page_sources.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

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
  PageSources page = {};                ///< without a document: there is no page
};

/// What the page needs to be shown to other hosts.
struct EndpointSecurity {
  std::optional<std::string> certificate = {}; ///< a PEM file; with `key`: https, too
  std::optional<std::string> key = {};
  std::optional<std::string> password = {}; ///< not set: the page is for this host alone
};

/// How long a client may take, and how often followers hear of changes. Tests are less patient.
struct EndpointTimes {
  std::chrono::milliseconds to_ask{5000};
  std::chrono::milliseconds to_take{30000}; ///< an answer; of a follower: a part of an event
  std::chrono::milliseconds to_go{5000};    ///< when it has got all
  std::chrono::milliseconds tick{1000};
};

class HttpServer;

/// Answers /metrics, /sd (the endpoints of all nodes), /healthz (200 while the process lives) and
/// /readyz (200 or 503, and why) to everybody; the page of the run (/, /run.json, /events,
/// /report.html) to this host, and to others who come over TLS and know the password.
///
/// One thread: a client that is slow or silent keeps nobody else waiting, and the end is immediate
/// (docs/adr/0024-the-endpoint-on-beast.md).
class HttpEndpoint {
public:
  using Clock = std::chrono::steady_clock;

  /// `listen` is metrics.listen: HOST:PORT; port 0 takes a free one. Error: network, when it cannot
  /// listen there; invalid_input, when the certificate or its key cannot be used.
  static Result<std::unique_ptr<HttpEndpoint>> start(std::string_view listen,
                                                     EndpointSources sources,
                                                     const EndpointSecurity& security = {},
                                                     const EndpointTimes& times = {});
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;
  /// The sources are not called afterwards.
  ~HttpEndpoint();

  const Endpoint& endpoint() const { return address_; }
  std::uint16_t port() const { return address_.port; }
  /// When the values of the newest scrape that has reached Prometheus were read; empty: none has.
  std::optional<Clock::time_point> last_scrape() const;
  std::string address() const { return to_string(address_); } ///< "127.0.0.1:9401"

private:
  HttpEndpoint(Endpoint address, std::unique_ptr<HttpServer> server);

  Endpoint address_;
  std::unique_ptr<HttpServer> server_;
};

} // namespace troupe::metrics
