/// Where a run can be seen: console, log, folder, and what Prometheus reads. Made before the
/// actors, because each can fail for a reason that the user has to know; then owned by METRICS.
#pragma once

#include "../../company.hpp"
#include "../../type_ids.hpp"
#include "troupe/data/unreadable.hpp"
#include "troupe/engine/job.hpp"

#include "troupe/metrics/console/console.hpp"
#include "troupe/metrics/http/exposition.hpp"
#include "troupe/metrics/report/run_folder.hpp"
#include "troupe/metrics/tensorboard/event_file.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::actors {

/// The log as the options want it.
std::shared_ptr<spdlog::logger> make_run_logger(metrics::Screen& screen, const RunOptions& options);

class RunView {
public:
  /// `leads`: this node, which keeps the run's folder. The exposition outlives the view. Errors: io
  /// or no_space for the folder.
  static Result<std::unique_ptr<RunView>> open(const engine::Job& job, const metrics::RunInfo& info,
                                               bool leads, const RunOptions& options,
                                               metrics::Exposition& exposition);

  void show(const std::vector<NodeStatus>& nodes);
  void show(const metrics::StepRecord& step);
  void show(const metrics::EpochRecord& epoch);
  void show(const metrics::WorkerSummary& worker);
  /// Of the job's node at this address.
  void show_heartbeat(const std::string& address);
  void show(metrics::JobPhase phase);
  void show_failed_loss(double loss) { exposition_.registry().record_failed_loss(loss); }
  void show(const CheckpointOutcome& checkpoint);
  /// Files that were skipped since the last call, and their count.
  void show_unreadable();
  /// Writes and shows how the run ended, and gives it back: failed, where a step, an epoch or the
  /// summary could not be written.
  RunOutcome finish(RunOutcome outcome);
  /// Said once.
  void warn_once(const Status& status);

  metrics::Registry& registry() { return exposition_.registry(); }

private:
  RunView(const RunOptions& options, metrics::Exposition& exposition,
          std::optional<metrics::RunFolder> folder, std::optional<metrics::EventFile> board);
  void begin(const engine::Job& job, const metrics::RunInfo& info);
  data::UnreadableFiles::Counts count_unreadable() const;
  /// A full disk must not end a run: it fails when it has come to its end.
  void keep_first_failure(const Status& written);

  metrics::Screen screen_;
  std::shared_ptr<spdlog::logger> log_;
  metrics::Console console_;
  metrics::Exposition& exposition_;
  std::map<std::string, std::string> labels_;                      ///< of nodes, by address
  std::optional<metrics::RunFolder> folder_;                       ///< of the node that leads
  std::optional<metrics::EventFile> board_;                        ///< with run.tensorboard
  std::vector<std::shared_ptr<data::UnreadableFiles>> unreadable_; ///< by split
  std::optional<Error> lost_; ///< why the record of the run is not whole
  bool warned_ = false;
};

} // namespace troupe::actors
