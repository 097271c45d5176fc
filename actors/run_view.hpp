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

#include <memory>
#include <string>

namespace troupe::actors {

class RunView {
public:
  /// Errors: io or no_space for the run's folder, network when the endpoint's port is in use.
  static Result<std::unique_ptr<RunView>> open(const Job& job, const RunOptions& options);

  void show(const metrics::StepRecord& step);
  void show(const metrics::EpochRecord& epoch);
  void show(const metrics::WorkerSummary& worker) { registry_.record(worker); }
  void show(const metrics::MailboxSample& sample) { registry_.record(sample); }
  void show(const CheckpointOutcome& checkpoint);
  void finish(const metrics::RunSummary& summary);

private:
  RunView(const Job& job, const RunOptions& options, metrics::RunFolder folder);
  Status listen(const std::string& address);
  /// A full disk must not end a run; it is said once.
  void warn_once(const Status& status);

  metrics::Screen screen_;
  std::shared_ptr<spdlog::logger> log_;
  metrics::Console console_;
  metrics::RunFolder folder_;
  metrics::Registry registry_;
  std::unique_ptr<metrics::HttpEndpoint> endpoint_; ///< asks the registry: ends before it
  bool warned_ = false;
};

} // namespace troupe::actors
