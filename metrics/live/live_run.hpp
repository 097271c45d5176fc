/// State of a run for its live page, from the start of the process to its end.
#pragma once

#include "metrics/http/endpoint.hpp"
#include "metrics/live/step_cut.hpp"
#include "metrics/records/checkpoint.hpp"
#include "metrics/registry/job_phase.hpp"
#include "metrics/registry/registry.hpp"
#include "metrics/report/run_document.hpp"
#include "metrics/run_sink.hpp"
#include "metrics/trace.hpp"

#include <spdlog/common.h>

#include <array>
#include <bitset>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::metrics {

/// Thread-safe. Recording costs a lock and a few additions. JSON is generated on request, only for
/// the parts that have changed since the last request.
class LiveRun final : public RunSink {
public:
  using Clock = std::chrono::steady_clock;

  /// `run` needs only the members that the config determines.
  explicit LiveRun(const RunInfo& run);

  /// Returns a log sink that adds lines to the page. It must not outlive this object.
  spdlog::sink_ptr log_sink();
  /// Sets the trace whose last step is shown while any client follows.
  void show_timeline_of(const Trace& trace);
  void set_config(std::string_view yaml);

  /// Begins the run, with all members of `run` known. `before`: the history of the steps before its
  /// first step.
  void begin(const RunInfo& run, const RunHistory& before, std::int64_t generation);
  /// Begins another generation without replacing the history.
  void go_on(const RunInfo& run, std::int64_t generation);
  /// Removes its workers and nodes from the document.
  void end_generation();
  void enter(JobPhase phase);
  using RunSink::record;
  void record(const StepRecord& step) override;
  void record(const EpochRecord& epoch) override;
  void record(const RecoveryRecord& recovery) override;
  void record(const GeneratedRecord& generated) override;
  void record(const WorkerSummary& worker) override;
  void record(const CheckpointRecord& checkpoint) override;
  /// Records the number of committed steps, in a process that receives no step records.
  void record_steps(std::int64_t steps);
  void record(const std::vector<MailboxSample>& actors);
  void record_unreadable(std::int64_t samples);
  /// `leads`: whether this process leads the job.
  void set_nodes(std::vector<NodeRecord> nodes, bool leads);
  void record_heartbeat(const std::string& address);
  /// Takes the timeline of the last step if any client follows. Call it about once a second.
  void sample_timeline();
  void fail(std::string_view error);
  void finish(const RunSummary& summary);
  void add(LogLine line);

  /// Callbacks for the HTTP server.
  PageSources page();
  /// The document of a standalone page, as of now.
  std::string standalone();

private:
  using Parts = std::bitset<document_parts>;

  std::string document();
  std::string changes();
  void watch(bool wanted);
  void forget_generation();
  void show(const RunInfo& run, std::int64_t generation);
  void raise_peak(double operations);
  void touch(std::initializer_list<DocumentPart> parts);
  const std::string& fresh(std::size_t part);
  void refresh();
  void update_ages();

  std::mutex mutex_;
  RunDocument document_;
  bool ended_ = false;
  Parts changed_;                                ///< since the last changes()
  std::size_t changed_from_ = 0;                 ///< first changed point of the step history
  Parts stale_;                                  ///< parts of `json_` to regenerate
  std::array<std::string, document_parts> json_; ///< JSON generated last, by part
  Trace trace_;
  bool watched_ = false;
  StepCut cut_;
  std::map<std::string, Clock::time_point> heard_; ///< last heartbeat of each node, by address
  std::map<std::string, MailboxSample> mailboxes_; ///< the previous sample
  Clock::time_point sampled_{};
};

} // namespace troupe::metrics
