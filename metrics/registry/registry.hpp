/// The values of names.hpp, kept for one run, and as the text that Prometheus reads.
#pragma once

#include "metrics/machine/gpu_sample.hpp"
#include "metrics/machine/host_memory.hpp"
#include "metrics/registry/job_phase.hpp"
#include "metrics/step_record.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::metrics {

/// Totals since the process began, of all actors of one role.
struct MailboxSample {
  std::string actor;
  std::int64_t size = 0; ///< messages that wait now
  std::int64_t messages = 0;
  double seconds = 0; ///< that messages waited
  double processing_seconds = 0;
};

/// What a host's loader threads have done since the process began.
struct LoaderSample {
  std::int64_t batches = 0;
  double seconds = 0;        ///< of all threads
  double decode_seconds = 0; ///< of that, reading and decoding files
};

/// A value that was never set is not told, but for the counters of a node that leads: Prometheus
/// sees only the rise of what was there before. Any thread may call anything.
class Registry {
public:
  /// Of `run` only what its config says need be known, and of who leads what it does.
  explicit Registry(const RunInfo& run, bool leads = true);
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;
  ~Registry();

  /// All of the run is known now, and whether this node leads it from now on.
  void begin(const RunInfo& run, bool leads);
  void record(const StepRecord& step);
  void record(const EpochRecord& epoch);
  void record(const WorkerSummary& worker);
  void record(const MailboxSample& sample);
  void record(const LoaderSample& sample);
  /// All limits that there are now: one that was there before is told no more.
  void record(const std::vector<HostMemory>& memory);
  void record(const GpuSample& gpu);
  /// So many in all so far.
  void record_unreadable(std::int64_t samples);
  void record(const CheckpointRecord& checkpoint);
  void record(const RecoveryRecord& recovery);
  void set_generation(std::int64_t number);
  /// Removes the series of the generation's ranks and peers, and its world size. begin() does so,
  /// too.
  void end_generation();
  void record_checkpoint_failure();
  /// Records the loss of a step that is not committed, because its loss is not finite.
  void record_failed_loss(double loss);
  void set_phase(JobPhase phase);
  void record_failure(std::string_view kind);
  /// The leader has just heard of this node.
  void record_heartbeat(std::string_view peer);

  /// Prometheus text format 0.0.4, with what the process uses at this moment.
  std::string text() const;

private:
  struct Values;
  std::unique_ptr<Values> values_;
};

} // namespace troupe::metrics
