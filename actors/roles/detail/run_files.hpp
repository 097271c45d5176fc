/// Writes the files of a run on the leader of its job.
#pragma once

#include "actors/roles/detail/write_errors.hpp"
#include "metrics/live/live_run.hpp"
#include "metrics/records/run.hpp"
#include "metrics/report/run_folder.hpp"
#include "metrics/run_sink.hpp"
#include "metrics/tensorboard/event_file.hpp"

#include <chrono>
#include <cstdint>

namespace troupe::actors {

/// The run's folder: a line for each record, run.json, and the report, which shows the document of
/// the run's page.
class RunFiles final : public metrics::RunSink {
public:
  /// `errors` and `page` must outlive it.
  RunFiles(metrics::RunFolder folder, WriteErrors& errors, metrics::LiveRun& page)
      : folder_{std::move(folder)}, errors_{errors}, page_{page} {}

  const metrics::RunFolder& folder() const { return folder_; }
  /// The first step that was not recorded.
  std::int64_t next_step() const { return next_step_; }

  /// Begins with the folder's opening, which wrote run.json.
  void begin(const metrics::RunInfo& info);
  /// Continues in a later generation: writes run.json again.
  void go_on(const metrics::RunInfo& info);

  using RunSink::record;
  void record(const metrics::StepRecord& step) override;
  void record(const metrics::EpochRecord& epoch) override;
  void record(const metrics::RecoveryRecord& recovery) override;
  void record(const metrics::GeneratedRecord& generated) override;

  /// Writes the report, unless one was written within this time.
  void write_report_after(std::chrono::seconds pause);
  /// Writes what was queued. Called before the end.
  void settle(const metrics::RunSummary& summary);
  /// Writes the summary and the last report. Errors: io, no_space.
  Status finish(const metrics::RunSummary& summary);

private:
  void raise_peak(double operations);
  void write_info();
  void write_report();

  metrics::RunFolder folder_;
  WriteErrors& errors_;
  metrics::LiveRun& page_;
  metrics::RunInfo info_ = {}; ///< with later measurements
  std::int64_t next_step_ = 0;
  std::chrono::steady_clock::time_point reported_ = {}; ///< when the last report was written
  bool ended_ = false;
  bool info_unwritten_ = false; ///< run.json has an earlier generation or measurement
};

/// An event file for TensorBoard.
class RunEvents final : public metrics::RunSink {
public:
  /// `errors` must outlive it.
  RunEvents(metrics::EventFile file, WriteErrors& errors)
      : file_{std::move(file)}, errors_{errors} {}

  using RunSink::record;
  void record(const metrics::StepRecord& step) override { errors_.lose(file_.append(step)); }
  void record(const metrics::EpochRecord& epoch) override { errors_.lose(file_.append(epoch)); }
  void record(const metrics::WorkerSummary& worker) override { file_.note(worker); }

private:
  metrics::EventFile file_;
  WriteErrors& errors_;
};

} // namespace troupe::actors
