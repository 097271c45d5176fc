/// The outputs of a run: console, log, folder, page, and the values for Prometheus. It is made
/// before the actors, because each output can fail for a reason that the user has to know. METRICS
/// then owns it.
#pragma once

#include "actors/node_runtime.hpp"
#include "actors/type_ids.hpp"
#include "data/unreadable.hpp"
#include "metrics/console/console.hpp"
#include "metrics/exposition.hpp"
#include "metrics/report/best_epoch.hpp"
#include "metrics/report/history.hpp"
#include "metrics/report/run_folder.hpp"
#include "metrics/tensorboard/event_file.hpp"
#include "training/job.hpp"
#include "training/node_assignment.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::actors {

/// Makes the log according to the options. The run's page shows it too, and must outlive it.
std::shared_ptr<spdlog::logger> make_run_logger(metrics::Screen& screen, const RunOptions& options,
                                                metrics::LiveRun& page);

class RunView {
public:
  /// Opens the outputs; the leader also opens the run's folder. `is_first`: the run was not
  /// announced yet. `takes_over`: another process led until now. The exposition must outlive the
  /// view. Errors: io or no_space for the folder.
  static Result<std::unique_ptr<RunView>>
  open(const training::Job& job, const metrics::RunInfo& info,
       const training::NodeAssignment& assignment, bool is_first, bool takes_over,
       const RunOptions& options, metrics::Exposition& exposition);

  /// Whether a new generation with this info, in which this node `leads` or not, can continue this
  /// view. Opening a view again would read the run's files.
  bool is_followed_by(const metrics::RunInfo& info, bool leads) const {
    return leads == folder_.has_value() && (!folder_ || next_step_ == info.first_step);
  }
  void go_on(const metrics::RunInfo& info, const training::NodeAssignment& assignment);
  /// Removes the generation's ranks and nodes from the outputs.
  void end_generation();

  /// The history of a resumed run before this generation; only on the leader.
  metrics::EarlierRun before() const;

  void show(const std::vector<NodeStatus>& nodes);
  void show(const metrics::StepRecord& step);
  void show(const metrics::RecoveryRecord& recovery);
  void show(const metrics::EpochRecord& epoch);
  void show(const metrics::GeneratedRecord& generated);
  void show(const metrics::WorkerSummary& worker);
  /// Notes that the job's node at this address is alive.
  void show_heartbeat(const std::string& address);
  void show(metrics::JobPhase phase);
  void show_failed_loss(double loss) { exposition_.registry().record_failed_loss(loss); }
  void show_unwritten_sample(std::int64_t steps, const Error& why);
  void show(const CheckpointOutcome& checkpoint);
  void show(const std::vector<metrics::ActorSample>& actors);
  /// Shows the number of files that were skipped since the last call.
  void show_unreadable();
  /// Updates the open page and the periodic report. Called once a second.
  void refresh_page();
  /// Writes and shows the outcome of the run, and returns it. The outcome is "failed" if a step, an
  /// epoch or the summary could not be written.
  RunOutcome finish(RunOutcome outcome);
  /// Logs the error the first time.
  void warn_once(const Status& status);

  /// How much of the run's lines this node has, if it may lead one day; empty: it may not, or
  /// cannot store them.
  std::optional<metrics::HistoryPlace> history() const;
  void keep(const metrics::HistoryChunk& part);
  /// Returns the lines that another node lacks. Only on the leader.
  metrics::HistoryChunk lines_after(const metrics::HistoryPlace& there) const;
  /// Makes the stored lines the run's files, because this node leads from now on. Errors: io.
  Status hand_over_history() const;

  metrics::Registry& registry() { return exposition_.registry(); }

private:
  RunView(const RunOptions& options, metrics::Exposition& exposition,
          std::optional<metrics::RunFolder> folder, std::optional<metrics::EventFile> board);
  void begin(const training::Job& job, const metrics::RunInfo& info,
             const training::NodeAssignment& assignment);
  void begin_steps(const metrics::RunInfo& info, const training::NodeAssignment& assignment);
  bool runs_here(int rank) const;
  /// Announces the run once.
  void introduce(const training::Job& job, const metrics::RunInfo& info);
  void write_info();
  void show_peak(double operations);
  void show_end(const metrics::RunSummary& summary);
  Status write_end(const metrics::RunSummary& summary);
  void write_report();
  /// Writes the report, unless one was written within this time.
  void write_report_after(std::chrono::seconds pause);
  /// `request`: the use of the data, for the log.
  void watch_files(const data::Adapter& adapter, std::string_view request);
  data::UnreadableFiles::Counts count_unreadable() const;
  /// Notes the first failed write. A run continues when its disk cannot be written, and fails at
  /// its end.
  void keep_first_failure(const Status& written);
  /// Notes a failed line. A line for which the disk has no space is written later.
  void note_line(const Status& written);

  metrics::Screen screen_;
  std::shared_ptr<spdlog::logger> log_;
  metrics::Console console_;
  metrics::Exposition& exposition_;
  std::map<std::string, std::string> labels_;                      ///< of nodes, by address
  std::optional<metrics::RunFolder> folder_;                       ///< set on the leader
  std::string opening_;                                            ///< of the folder
  metrics::BestBy best_by_ = metrics::BestBy::accuracy;            ///< criterion for the best epoch
  std::optional<metrics::KeptHistory> kept_;                       ///< of a node that may lead
  std::optional<metrics::EventFile> board_;                        ///< with run.tensorboard
  std::vector<std::shared_ptr<data::UnreadableFiles>> unreadable_; ///< by split
  std::vector<std::shared_ptr<data::FileNotes>> damaged_;          ///< by split
  std::optional<Error> lost_;               ///< why the run's files are incomplete
  metrics::RunInfo info_ = {};              ///< of the generation, with later measurements
  std::int32_t first_rank_ = 0, ranks_ = 0; ///< of this node, in the generation
  std::int64_t first_step_ = 0;
  std::int64_t next_step_ = 0;                          ///< the first step that was not shown
  std::chrono::steady_clock::time_point reported_ = {}; ///< when the last report was written
  bool ended_ = false, warned_ = false;
  bool info_unwritten_ = false; ///< run.json has an earlier generation or measurement
};

} // namespace troupe::actors
