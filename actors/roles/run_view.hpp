/// Where a run can be seen: console, log, folder, its page, and what Prometheus reads. Made before
/// the actors, because each can fail for a reason that the user has to know; then owned by METRICS.
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

/// The log as the options want it; the run's page shows it, too, and has to outlive it.
std::shared_ptr<spdlog::logger> make_run_logger(metrics::Screen& screen, const RunOptions& options,
                                                metrics::LiveRun& page);

class RunView {
public:
  /// The node that leads keeps the run's folder. `is_first`: a person has not been told of the run
  /// yet. `takes_over`: another process has led until now. The exposition outlives the view.
  /// Errors: io or no_space for the folder.
  static Result<std::unique_ptr<RunView>>
  open(const training::Job& job, const metrics::RunInfo& info,
       const training::NodeAssignment& assignment, bool is_first, bool takes_over,
       const RunOptions& options, metrics::Exposition& exposition);

  /// Whether a generation that begins as this info says, and that this node `leads` or not, goes on
  /// where this view is: it need not be opened again, which would read what the run's files have.
  bool is_followed_by(const metrics::RunInfo& info, bool leads) const {
    return leads == folder_.has_value() && (!folder_ || next_step_ == info.first_step);
  }
  void go_on(const metrics::RunInfo& info, const training::NodeAssignment& assignment);
  /// Its ranks and nodes are shown no longer.
  void end_generation();

  /// What the run was before, where it goes on; of the node that leads.
  metrics::EarlierRun before() const;

  void show(const std::vector<NodeStatus>& nodes);
  void show(const metrics::StepRecord& step);
  void show(const metrics::RecoveryRecord& recovery);
  void show(const metrics::EpochRecord& epoch);
  void show(const metrics::GeneratedRecord& generated);
  void show(const metrics::WorkerSummary& worker);
  /// Of the job's node at this address.
  void show_heartbeat(const std::string& address);
  void show(metrics::JobPhase phase);
  void show_failed_loss(double loss) { exposition_.registry().record_failed_loss(loss); }
  void show_unwritten_sample(std::int64_t steps, const Error& why);
  void show(const CheckpointOutcome& checkpoint);
  void show(const std::vector<metrics::ActorSample>& actors);
  /// Files that were skipped since the last call, and their count.
  void show_unreadable();
  /// What a page that is open, or is written from time to time, wants to be told of once a second.
  void refresh_page();
  /// Writes and shows how the run ended, and gives it back: failed, where a step, an epoch or the
  /// summary could not be written.
  RunOutcome finish(RunOutcome outcome);
  /// Said once.
  void warn_once(const Status& status);

  /// How much of the run's lines this node keeps, which may lead one day; empty: it need not, or
  /// cannot.
  std::optional<metrics::HistoryPlace> history() const;
  void keep(const metrics::HistoryChunk& part);
  /// What somebody lacks who keeps them, of the node that leads.
  metrics::HistoryChunk lines_after(const metrics::HistoryPlace& there) const;
  /// This node leads from now on, with the lines that it has kept. Errors: io.
  Status hand_over_history() const;

  metrics::Registry& registry() { return exposition_.registry(); }

private:
  RunView(const RunOptions& options, metrics::Exposition& exposition,
          std::optional<metrics::RunFolder> folder, std::optional<metrics::EventFile> board);
  void begin(const training::Job& job, const metrics::RunInfo& info,
             const training::NodeAssignment& assignment);
  void begin_steps(const metrics::RunInfo& info, const training::NodeAssignment& assignment);
  bool runs_here(int rank) const;
  /// To a person, once.
  void introduce(const training::Job& job, const metrics::RunInfo& info);
  void write_info();
  void show_peak(double operations);
  void show_end(const metrics::RunSummary& summary);
  Status write_end(const metrics::RunSummary& summary);
  void write_report();
  /// Unless one was written within that time.
  void write_report_after(std::chrono::seconds pause);
  /// `use`: of the data, for the log.
  void watch_files(const data::Adapter& adapter, std::string_view request);
  data::UnreadableFiles::Counts count_unreadable() const;
  /// A disk that cannot be written to must not end a run: it fails when it has come to its end.
  void keep_first_failure(const Status& written);
  /// A line that found no room is written later.
  void note_line(const Status& written);

  metrics::Screen screen_;
  std::shared_ptr<spdlog::logger> log_;
  metrics::Console console_;
  metrics::Exposition& exposition_;
  std::map<std::string, std::string> labels_;                      ///< of nodes, by address
  std::optional<metrics::RunFolder> folder_;                       ///< of the node that leads
  std::string opening_;                                            ///< of the folder
  metrics::BestBy best_by_ = metrics::BestBy::accuracy;            ///< what an epoch is compared by
  std::optional<metrics::KeptHistory> kept_;                       ///< of a node that may lead
  std::optional<metrics::EventFile> board_;                        ///< with run.tensorboard
  std::vector<std::shared_ptr<data::UnreadableFiles>> unreadable_; ///< by split
  std::vector<std::shared_ptr<data::FileNotes>> damaged_;          ///< likewise
  std::optional<Error> lost_;  ///< why the record of the run is not whole
  metrics::RunInfo info_ = {}; ///< of the generation, with what was measured since it began
  std::int32_t first_rank_ = 0, ranks_ = 0; ///< those of this node, in the generation
  std::int64_t first_step_ = 0;
  std::int64_t next_step_ = 0;                          ///< the first that was not shown
  std::chrono::steady_clock::time_point reported_ = {}; ///< when the report was written last
  bool ended_ = false, warned_ = false;
  bool info_unwritten_ = false; ///< run.json is of an earlier generation or measurement
};

} // namespace troupe::actors
