/// What Prometheus, a page, and whoever supervises a process can ask of it from its start to its
/// end.
#pragma once

#include "metrics/http/endpoint.hpp"
#include "metrics/http/scrape_targets.hpp"
#include "metrics/live/live_run.hpp"
#include "metrics/registry/job_phase.hpp"
#include "metrics/registry/registry.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

namespace troupe::metrics {

/// Any thread may call anything.
class Exposition {
public:
  /// `listen` is metrics.listen; "off": values are kept, and nobody can ask for them. Of `run` only
  /// what its config says need be known. Begins waiting. Errors: those of HttpEndpoint.
  static Result<std::unique_ptr<Exposition>> open(std::string_view listen, const RunInfo& run,
                                                  bool leads,
                                                  const EndpointSecurity& security = {});

  Registry& registry() { return registry_; }
  ScrapeTargets& targets() { return targets_; }
  LiveRun& live() { return live_; }
  /// Empty: off.
  std::optional<Endpoint> listens_at() const;

  /// The first end is the end: what comes later is not shown.
  void enter(JobPhase phase);
  /// Ends as failed.
  void fail(Errc kind);
  /// Whether a Prometheus scrapes this process and has not seen its end yet.
  bool is_awaited() const;

private:
  using Clock = HttpEndpoint::Clock;

  Exposition(const RunInfo& run, bool leads);
  Readiness readiness() const;
  bool ended() const;

  Registry registry_;
  ScrapeTargets targets_;
  LiveRun live_;
  mutable std::mutex mutex_;
  JobPhase phase_ = JobPhase::waiting;
  std::optional<Clock::time_point> ended_;
  std::unique_ptr<HttpEndpoint> endpoint_; ///< last: it reads all of the above; null: off
};

} // namespace troupe::metrics
