/// Metrics, page and readiness of a process, from its start to its end.
#pragma once

#include "metrics/http/endpoint.hpp"
#include "metrics/live/live_run.hpp"
#include "metrics/registry/job_phase.hpp"
#include "metrics/registry/registry.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::metrics {

struct ScrapeTarget {
  std::string address; ///< HOST:PORT that serves /metrics
  std::map<std::string, std::string> labels;
};

/// The endpoints of all nodes, for Prometheus's HTTP service discovery (http_sd_configs).
/// Thread-safe.
class ScrapeTargets {
public:
  void set(std::vector<ScrapeTarget> targets);
  /// [{"labels": {"node": "host"}, "targets": ["host:9401"]}], Prometheus's format.
  std::string json() const;

private:
  mutable std::mutex mutex_;
  std::vector<ScrapeTarget> targets_;
};

/// Thread-safe.
class Exposition {
public:
  /// Starts in the phase `waiting`. `listen` is metrics.listen; with "off" values are recorded, but
  /// not served. `run` needs only the members that the config determines. Errors: those of
  /// HttpEndpoint.
  static Result<std::unique_ptr<Exposition>> open(std::string_view listen, const RunInfo& run,
                                                  bool leads,
                                                  const EndpointSecurity& security = {});

  Registry& registry() { return registry_; }
  ScrapeTargets& targets() { return targets_; }
  LiveRun& live() { return live_; }
  /// Empty if off.
  std::optional<Endpoint> listens_at() const;

  /// Ignores all phases after the first final one.
  void enter(JobPhase phase);
  /// Records the error kind and enters the phase `failed`.
  void fail(Errc kind);
  /// Whether a Prometheus server scrapes this process and has not scraped it since its end.
  bool is_awaited() const;

private:
  using Clock = HttpEndpoint::Clock;

  Exposition(const RunInfo& run, bool leads);
  Readiness readiness() const;

  Registry registry_;
  ScrapeTargets targets_;
  LiveRun live_;
  mutable std::mutex mutex_;
  JobPhase phase_ = JobPhase::waiting;
  std::optional<Clock::time_point> ended_;
  std::unique_ptr<HttpEndpoint> endpoint_; ///< last: it reads all members above; null: off
};

} // namespace troupe::metrics
