/// The outputs of a run: console, log, folder, page, and the values for Prometheus. It is made
/// before the actors, because each output can fail for a reason that the user has to know. METRICS
/// then owns it.
#pragma once

#include "actors/node_runtime.hpp"
#include "actors/roles/detail/line_copies.hpp"
#include "actors/roles/detail/run_files.hpp"
#include "actors/roles/detail/run_log.hpp"
#include "actors/roles/detail/write_errors.hpp"
#include "actors/type_ids.hpp"
#include "metrics/console/console.hpp"
#include "metrics/exposition.hpp"
#include "metrics/report/earlier_run.hpp"
#include "metrics/report/run_state.hpp"
#include "metrics/run_sink.hpp"
#include "training/job.hpp"
#include "training/node_assignment.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::actors {

/// Makes the log according to the options. The run's page shows it too, and must outlive it.
std::shared_ptr<spdlog::logger> make_run_logger(metrics::Screen& screen, const RunOptions& options,
                                                metrics::LiveRun& page);

/// A node that does not lead receives no steps. Its page shows the steps of its own workers.
class FollowedSteps final : public metrics::RunSink {
public:
  explicit FollowedSteps(metrics::LiveRun& page) : page_{page} {}

  void begin(std::int64_t first_step) { first_step_ = first_step; }
  using RunSink::record;
  void record(const metrics::WorkerSummary& worker) override {
    page_.record_steps(first_step_ + worker.steps);
  }

private:
  metrics::LiveRun& page_;
  std::int64_t first_step_ = 0;
};

class RunView {
public:
  /// Opens the outputs; the leader also opens the run's folder. `is_first`: the run was not
  /// announced yet. `takes_over`: another process led until now. The exposition must outlive the
  /// view. Errors: io or no_space for the folder.
  static Result<std::unique_ptr<RunView>>
  open(const training::Job& job, const metrics::RunInfo& info,
       const training::NodeAssignment& assignment, bool is_first, bool takes_over,
       const RunOptions& options, metrics::Exposition& exposition);
  RunView(const RunView&) = delete;
  RunView& operator=(const RunView&) = delete;

  /// Whether a new generation with this info, in which this node `leads` or not, can continue this
  /// view. Opening a view again would read the run's files.
  bool is_followed_by(const metrics::RunInfo& info, bool leads) const;
  void go_on(const metrics::RunInfo& info, const training::NodeAssignment& assignment);
  /// Removes the generation's ranks and nodes from the outputs.
  void end_generation();

  /// The history of a resumed run before this generation; only on the leader.
  metrics::EarlierRun before() const;

  /// Hands a record (metrics/records/) to every output.
  template <class Record>
  void record(const Record& record) {
    for (auto* const sink : sinks_)
      sink->record(record);
  }
  void show(const std::vector<metrics::NodeRecord>& nodes);
  /// Notes that the job's node at this address is alive.
  void show_heartbeat(const std::string& address);
  void enter(metrics::JobPhase phase);
  /// Updates the open page and the periodic report, and shows the files that were skipped since the
  /// last call. Called once a second.
  void refresh(const std::vector<metrics::MailboxSample>& actors);
  /// Writes and shows the outcome of the run, and returns it. The outcome is "failed" if a step, an
  /// epoch or the summary could not be written.
  RunOutcome finish(RunOutcome outcome);

  metrics::Registry& registry() { return exposition_.registry(); }
  spdlog::logger& log() { return *log_; }
  WriteErrors& errors() { return errors_; }
  /// The run's lines that this node keeps, if it may lead one day, or sends, if it leads.
  LineCopies& lines() { return lines_; }

private:
  RunView(const RunOptions& options, metrics::Exposition& exposition);
  /// Begins the run's folder, of which the leader writes the files.
  Status open_files(const training::Job& job, const metrics::RunInfo& info,
                    const metrics::RunWriter& writer, const RunOptions& options);
  void begin(const training::Job& job, const metrics::RunInfo& info,
             const training::NodeAssignment& assignment);
  void begin_steps(const metrics::RunInfo& info, const training::NodeAssignment& assignment);
  void show_unreadable();
  void show_end(const metrics::RunSummary& summary);

  metrics::Screen screen_;
  std::shared_ptr<spdlog::logger> log_;
  metrics::Console console_;
  metrics::Exposition& exposition_;
  WriteErrors errors_;
  RunLog run_log_;
  LineCopies lines_;
  FollowedSteps followed_;          ///< unless this node leads
  std::optional<RunFiles> files_;   ///< on the leader
  std::optional<RunEvents> events_; ///< likewise, with run.tensorboard
  std::vector<metrics::RunSink*> sinks_;
  metrics::BestBy best_by_ = metrics::BestBy::accuracy; ///< criterion for the best epoch
  std::map<std::string, std::string> labels_;           ///< of nodes, by address
};

} // namespace troupe::actors
