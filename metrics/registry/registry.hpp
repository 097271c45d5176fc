/// The values of the metrics in names.hpp for one run, and their Prometheus text.
#pragma once

#include "metrics/machine/gpu_sample.hpp"
#include "metrics/machine/process_use.hpp"
#include "metrics/records/checkpoint.hpp"
#include "metrics/records/epoch.hpp"
#include "metrics/records/field.hpp"
#include "metrics/records/recovery.hpp"
#include "metrics/records/run.hpp"
#include "metrics/records/step.hpp"
#include "metrics/registry/job_phase.hpp"
#include "metrics/run_sink.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace troupe::metrics {

/// Consecutive ranks; by default all.
struct RankRange {
  std::int32_t first = 0;
  std::int32_t count = std::numeric_limits<std::int32_t>::max();

  bool contains(std::int32_t rank) const { return rank >= first && rank - first < count; }
};

/// Totals since the process began, over all actors of one role.
struct MailboxSample {
  std::string actor;
  std::int64_t count = 1; ///< actors of the role in this process
  std::int64_t size = 0;  ///< waiting messages now
  std::int64_t messages = 0;
  double seconds = 0; ///< total waiting time of messages
  double processing_seconds = 0;
};

template <>
inline constexpr auto fields_of<MailboxSample> = std::tuple{
    field("size", &MailboxSample::size,
          {.metric = names::metric("troupe_mailbox_size", names::gauge, names::every_node,
                                   "Messages waiting in the mailbox", "actor")}),
    field("messages", &MailboxSample::messages,
          {.metric = names::metric("troupe_mailbox_messages_total", names::counter,
                                   names::every_node, "Messages taken from the mailbox", "actor"),
           .is_total = true}),
    field(
        "seconds", &MailboxSample::seconds,
        {.metric = names::metric("troupe_mailbox_seconds_total", names::counter, names::every_node,
                                 "Time that messages waited in the mailbox", "actor"),
         .is_total = true}),
    field("processing_seconds", &MailboxSample::processing_seconds,
          {.metric = names::metric("troupe_processing_seconds_total", names::counter,
                                   names::every_node, "Time spent in message handlers", "actor"),
           .is_total = true})};

/// Totals of a host's loader threads (data.loader_threads) since the process began.
struct LoaderSample {
  std::int64_t batches = 0;
  double seconds = 0;        ///< over all threads
  double decode_seconds = 0; ///< the part spent reading and decoding files
};

template <>
inline constexpr auto fields_of<LoaderSample> =
    std::tuple{field("seconds", &LoaderSample::seconds,
                     {.metric = {"troupe_loader_seconds_total", names::counter, names::every_node,
                                 "Time of reading, decoding and augmenting, all loader threads"},
                      .is_total = true}),
               field("batches", &LoaderSample::batches,
                     {.metric = {"troupe_loader_batches_total", names::counter, names::every_node,
                                 "Micro-batches that loader threads have filled"},
                      .is_total = true}),
               field("decode_seconds", &LoaderSample::decode_seconds,
                     {.metric = {"troupe_decode_seconds_total", names::counter, names::every_node,
                                 "Time of reading and decoding image files, all loader threads"},
                      .is_total = true})};

/// Exports only values that were set, and on the leader also the counters of the job, from 0:
/// Prometheus only sees increases of a series that it has scraped before. Thread-safe.
class Registry final : public RunSink {
public:
  /// `run` needs only the members that the config determines. `leads`: whether this node leads the
  /// job.
  explicit Registry(const RunInfo& run, bool leads = true);
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;
  ~Registry() override;

  /// Begins a run with all members of `run` known. `leads`: whether this node leads it from now on.
  /// Exports only workers of `ranks`: each node exports its own.
  void begin(const RunInfo& run, bool leads, const RankRange& ranks = {});
  using RunSink::record;
  void record(const StepRecord& step) override;
  void record(const EpochRecord& epoch) override;
  void record(const WorkerSummary& worker) override;
  void record(const CheckpointRecord& checkpoint) override;
  void record(const RecoveryRecord& recovery) override;
  void record(const MailboxSample& sample);
  void record(const LoaderSample& sample);
  /// Replaces all limits: removes the series of limits that no longer exist.
  void record(const std::vector<HostMemory>& memory);
  void record(const GpuSample& gpu);
  /// Records the total so far.
  void record_unreadable(std::int64_t samples);
  void set_generation(std::int64_t number);
  /// Removes the series of the generation's ranks and peers, and its world size. begin() also does
  /// this.
  void end_generation();
  /// Records the loss of a step that is not committed because its loss is not finite.
  void record_failed_loss(double loss);
  void set_phase(JobPhase phase);
  void record_failure(std::string_view kind);
  /// Records that the leader has just received a heartbeat of this node.
  void record_heartbeat(std::string_view peer);

  /// Returns Prometheus text format 0.0.4, including the current resource usage of the process.
  std::string text() const;

private:
  struct Values;
  std::unique_ptr<Values> values_;
};

} // namespace troupe::metrics
