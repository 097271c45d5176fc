/// Where a run can be seen: console, log, folder, Prometheus endpoint. Made before the actors,
/// because each can fail for a reason that the user has to know; then owned by METRICS.
#pragma once

#include "company.hpp"
#include "job.hpp"
#include "type_ids.hpp"

#include "troupe/metrics/console.hpp"
#include "troupe/metrics/http_endpoint.hpp"
#include "troupe/metrics/registry.hpp"
#include "troupe/metrics/run_folder.hpp"
#include "troupe/metrics/scrape_targets.hpp"

#include <atomic>
#include <memory>
#include <optional>

namespace troupe::actors {

/// As the options want it.
std::shared_ptr<spdlog::logger> make_run_logger(metrics::Screen& screen, const RunOptions& options);

class RunView {
public:
  /// Errors: io or no_space for the run's folder, network when the endpoint's port is in use.
  static Result<std::unique_ptr<RunView>> open(const Job& job, const RunOptions& options);

  /// Where the endpoint listens; empty: off.
  std::optional<Endpoint> listens_at() const;
  void show(const std::vector<NodeStatus>& nodes);
  void show(const metrics::StepRecord& step);
  void show(const metrics::EpochRecord& epoch);
  void show(const metrics::WorkerSummary& worker) { live_->registry.record(worker); }
  void show(const metrics::MailboxSample& sample) { live_->registry.record(sample); }
  void show(const CheckpointOutcome& checkpoint);
  /// Writes and shows how the run ended, and gives it back: failed, where a step, an epoch or the
  /// summary could not be written.
  RunOutcome finish(RunOutcome outcome);
  /// Said once.
  void warn_once(const Status& status);

private:
  /// What the endpoint's threads read while METRICS writes.
  struct Live {
    explicit Live(const metrics::RunInfo& run) : registry{run} {}
    void set(bool ready, const char* why);
    metrics::Readiness readiness() const { return {ready.load(), why.load()}; }

    metrics::Registry registry;
    metrics::ScrapeTargets targets;
    std::atomic<bool> ready = false;
    std::atomic<const char*> why = "starting";
  };

  RunView(const RunOptions& options, std::unique_ptr<Live> live,
          std::unique_ptr<metrics::HttpEndpoint> endpoint,
          std::optional<metrics::RunFolder> folder);
  void begin(const Job& job);
  /// A full disk must not end a run: it fails when it has come to its end.
  void keep_first_failure(const Status& written);

  metrics::Screen screen_;
  std::shared_ptr<spdlog::logger> log_;
  metrics::Console console_;
  std::unique_ptr<Live> live_;
  std::unique_ptr<metrics::HttpEndpoint> endpoint_; ///< reads live_: ends before it; null: off
  std::optional<metrics::RunFolder> folder_;        ///< of the node that leads
  std::optional<Error> lost_;                       ///< why the record of the run is not whole
  bool warned_ = false;
};

} // namespace troupe::actors
