/// A run as those see it who follow its page, from the start of the process to its end.
#pragma once

#include "metrics/http/page_sources.hpp"
#include "metrics/live/step_cut.hpp"
#include "metrics/registry/job_phase.hpp"
#include "metrics/registry/registry.hpp"
#include "metrics/report/run_document.hpp"
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

/// A role's mailboxes, and how many actors of this process have them.
struct ActorSample {
  MailboxSample mailbox;
  std::int64_t count = 1;
};

/// Any thread may call anything. What is recorded costs a lock and a few additions: JSON is made
/// when somebody asks, of what has changed since somebody did.
class LiveRun {
public:
  using Clock = std::chrono::steady_clock;

  /// Of `run` only what its config says need be known.
  explicit LiveRun(const RunInfo& run);
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  /// Where lines of a log can be seen, too. It must not be used longer than this lives.
  spdlog::sink_ptr log_sink();
  /// Whose last step is shown while somebody watches.
  void show_timeline_of(const Trace& trace);
  void set_config(std::string_view yaml);

  /// All of the run is known now; `before`: the steps before its first one.
  void begin(const RunInfo& run, const RunHistory& before, std::int64_t generation);
  /// Another generation, of which nothing is made again.
  void go_on(const RunInfo& run, std::int64_t generation);
  /// Its workers and nodes are not shown any more.
  void end_generation();
  void enter(JobPhase phase);
  void record(const StepRecord& step);
  void record(const EpochRecord& epoch);
  void record(const RecoveryRecord& recovery);
  void record(const GeneratedRecord& generated);
  void record(const WorkerSummary& worker);
  /// This process is not told of steps: so many are committed.
  void record_steps(std::int64_t steps);
  void record(const std::vector<ActorSample>& actors);
  void record(const CheckpointRecord& checkpoint, std::string_view path);
  void record_checkpoint_failure();
  void record_unreadable(std::int64_t samples);
  /// Peak of all ranks' devices, as far as measured.
  void record_peak(double operations);
  /// `leads`: whether this process leads them.
  void set_nodes(std::vector<NodeRecord> nodes, bool leads);
  void record_heartbeat(const std::string& address);
  /// Reads the timeline of the last step, where somebody watches: once a second, say.
  void sample_timeline();
  void fail(std::string_view error);
  void finish(const RunSummary& summary);
  void add(LogLine line);

  /// For the server of the page that follows.
  PageSources page();
  /// The document of a page that stands, of this moment.
  std::string standing();

private:
  using Parts = std::bitset<document_keys.size()>;

  std::string document();
  std::string changes();
  void watch(bool wanted);
  void forget_generation();
  void show(const RunInfo& run, std::int64_t generation);
  void touch(std::initializer_list<DocumentPart> parts);
  const std::string& fresh(std::size_t part);
  void refresh();
  void update_ages();

  std::mutex mutex_;
  RunDocument document_;
  bool ended_ = false;
  Parts changed_;                                      ///< since changes() was called
  std::size_t changed_from_ = 0;                       ///< of the points of steps
  Parts stale_;                                        ///< of `json_`
  std::array<std::string, document_keys.size()> json_; ///< what was asked for last
  Trace trace_;
  bool watched_ = false;
  StepCut cut_;
  std::map<std::string, Clock::time_point> heard_; ///< of nodes, by address
  std::map<std::string, MailboxSample> mailboxes_; ///< a sample ago
  Clock::time_point sampled_{};
};

} // namespace troupe::metrics
