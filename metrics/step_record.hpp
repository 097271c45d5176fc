/// Records of a run that actors report: plain values for registry, run folder and console. Steps
/// and epochs count from 0, as in the sampler; text for people counts from 1.
#pragma once

#include "core/config/strategies.hpp"
#include "core/device/device.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::metrics {

enum class CollectiveKind : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  shard_replica ///< gradients, to the rank's shard replica
};

inline constexpr std::array<std::string_view, 6> collective_kind_names = {
    "all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "shard_replica"};

constexpr std::string_view to_string(CollectiveKind kind) {
  return collective_kind_names[static_cast<std::size_t>(kind)];
}

/// Use of one kind of collective in a step.
struct CollectiveUse {
  std::uint64_t bytes = 0; ///< summed over ranks
  double seconds = 0;      ///< mean over ranks

  bool operator==(const CollectiveUse&) const = default;
};

/// One slice as received by a parameter server shard: its gradients came in `parts` buckets,
/// computed with parameter version `read` (the number of steps applied to the parameters).
struct SliceRead {
  std::int32_t slice = 0;
  std::int64_t read = 0;
  std::int32_t parts = 0;
};

/// With DiLoCo: the replica groups whose pseudo-gradients of a fragment its owner has summed, for
/// the round that ended after `step`. With `is_synchronized`, all replica groups synchronized
/// after that step.
struct RoundTaken {
  struct Change {
    std::int32_t replica_group = 0;
    std::int64_t step = 0; ///< after which its round ended
  };
  std::int32_t owner = 0, fragment = 0;
  std::int64_t step = 0;
  bool is_synchronized = false;
  std::vector<Change> changes = {};
};

/// One step that all ranks have committed.
struct StepRecord {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::chrono::system_clock::time_point time = {}; ///< when the step was committed
  double loss = 0;                                 ///< mean over the global batch
  /// Fraction of the global batch that was classified correctly; empty if there are no classes.
  std::optional<double> accuracy = {};
  double lr = 0;
  std::int64_t samples = 0;               ///< in the global batch
  std::vector<int> slice_assignment = {}; ///< slices of each rank; empty: unchanged
  /// With asynchronous workers: the mean staleness of its gradients in steps, over slices and
  /// shards; and the longest time that a worker held one slice.
  std::optional<double> staleness = {}, item_seconds = {};
  /// With asynchronous workers, by shard: each slice as it was received. Empty unless recorded.
  std::vector<std::vector<SliceRead>> reads = {};
  double seconds = 0;                 ///< since the previous commit
  double data_wait_seconds = 0;       ///< of the rank that waited longest for its batch
  double compute_seconds = 0;         ///< in forward and backward, mean over ranks
  double optimizer_seconds = 0;       ///< not overlapped with computing, mean over ranks
  std::uint64_t collective_bytes = 0; ///< summed over ranks
  double collective_seconds = 0;      ///< mean over ranks
  std::array<CollectiveUse, collective_kind_names.size()> collectives = {}; ///< by CollectiveKind
  double overlap_ratio = 0; ///< fraction of collective_seconds in which the rank also computed
  /// Model FLOPs utilization (Chowdhery et al., "PaLM", 2022): operations a second of the step's
  /// matrix products and convolutions, divided by the peak of all ranks' devices; empty: unknown.
  std::optional<double> mfu = {};
  /// Peak of all ranks' devices in operations a second, as measured so far; 0: unknown. Not
  /// written.
  double peak_operations = 0;
  /// Global L2 norm of the gradient before clipping; empty: not measured in this step.
  std::optional<double> gradient_norm = {};
  /// With local SGD averaged at the end of this step, or DiLoCo pseudo-gradients applied before it:
  /// the root mean square distance of parameters from their mean, divided by the norm of the mean.
  std::optional<double> drift = {};
  /// With rounds: the part of collective_bytes that was sent for rounds.
  std::uint64_t round_bytes = 0;
  /// With DiLoCo: the sums that owners have made since the previous step. Empty unless recorded.
  std::vector<RoundTaken> rounds = {};
  std::optional<double> loss_scale = {}; ///< after the step, with loss scaling
  std::int64_t skipped_steps = 0;        ///< in the whole run: not finite, so the scale was lowered
  std::int64_t scale_growths = 0;        ///< in the whole run: the scale was raised

  /// Time that the step's products would take at the devices' peak; nan if unknown.
  double peak_seconds() const {
    return seconds > 0 ? mfu.value_or(std::numeric_limits<double>::quiet_NaN()) * seconds : 0;
  }
};

/// The end of an epoch. Test values are empty if it was not evaluated.
struct EpochRecord {
  std::int64_t epoch = 0;
  std::optional<std::int64_t> step = {}; ///< its last step; empty in records of earlier versions
  std::chrono::system_clock::time_point time = {}; ///< when it ended
  double train_loss = 0;
  std::optional<double> train_accuracy = {};
  std::optional<double> test_loss = {};
  std::optional<double> test_accuracy = {};
  double seconds = 0;                      ///< including evaluation
  std::optional<double> test_seconds = {}; ///< of the evaluation only
};

/// Resources that one worker used. The four byte counts are peaks.
struct WorkerSummary {
  int rank = 0;
  std::string device = {}; ///< DeviceInfo::name
  std::uint64_t peak_memory_bytes = 0;
  std::uint64_t parameter_bytes = 0;
  std::uint64_t gradient_bytes = 0;
  std::uint64_t optimizer_bytes = 0;
  double busy_ratio = 0; ///< fraction of its steps' time in forward and backward
  MemoryUse memory = {}; ///< by kind, current and peak
  // Since the last start of the run.
  std::int64_t steps = 0;
  double step_seconds = 0; ///< total of all steps, from commit to commit
  double compute_seconds = 0;
  double data_wait_seconds = 0;
  double collective_seconds = 0;  ///< not overlapped with computing
  double optimizer_seconds = 0;   ///< not overlapped either
  std::int64_t ready_batches = 0; ///< filled when the last step ended
  // Limits of its device; 0: unknown.
  std::uint64_t memory_limit_bytes = 0;
  double peak_operations = 0; ///< operations a second, in the run's precision
};

/// A written checkpoint.
struct CheckpointRecord {
  std::int64_t step = 0;
  double seconds = 0;       ///< to write it
  double pause_seconds = 0; ///< in which training paused for it
  std::uint64_t bytes = 0;  ///< of all its files
};

/// A generation that began during the run because nodes were lost or joined. Times in seconds, by
/// the leader's clock.
struct RecoveryRecord {
  std::chrono::system_clock::time_point time; ///< end of its first step
  std::int64_t generation = 0;
  std::string reason = {};
  bool is_loss = false;
  std::int64_t step = 0;           ///< its first step, from 0
  std::int64_t steps_repeated = 0; ///< committed before, in an earlier generation
  std::int32_t world_size = 0;
  double detect = 0;     ///< from the last sign of life of a lost node until it was declared lost
  double halt = 0;       ///< from then until all nodes were connected again
  double heal = 0;       ///< until all had the state, as far as the leader sent or received it
  double connect = 0;    ///< until their ranks were connected
  double first_step = 0; ///< until that step was committed

  double seconds() const { return detect + halt + heal + connect + first_step; }
};

/// Text that a language model generates from a prompt during training, to show its progress.
struct GeneratedRecord {
  std::int64_t step = 0;                           ///< steps trained so far
  std::chrono::system_clock::time_point time = {}; ///< when the text was complete
  std::string prompt = {}, text = {};              ///< text: without the prompt
  std::int64_t tokens = 0;                         ///< in the text
  double seconds = 0;                              ///< to generate them
};

/// Memory that train.recompute saves each worker in a training step, and its cost.
struct RecomputeRecord {
  std::uint64_t activation_bytes = 0; ///< in the memory plan
  std::uint64_t activation_bytes_without = 0;
  double operations_ratio = 0; ///< recomputed ones, divided by those without recompute
};

/// Facts about a run that are known before its first step.
struct RunInfo {
  std::string name = "run";
  std::string model = {};                    ///< "resnet20"
  std::string dataset = {};                  ///< "cifar10"
  std::vector<std::string> class_names = {}; ///< by label
  std::string sample_name = "images";        ///< what a sample is, the unit of throughput
  std::int64_t tokens_per_sample = 0;        ///< 0: samples are not texts
  StrategyKind strategy = StrategyKind::single;
  std::string precision = "fp32";
  std::int32_t world_size = 1;
  std::int64_t batch_size = 0; ///< global
  std::int64_t steps_per_epoch = 0;
  std::int64_t total_steps = 0;         ///< step at which the run ends
  std::int64_t first_step = 0;          ///< above 0 if resumed
  std::int64_t checkpoint_interval = 0; ///< steps; 0: none are written
  double operations_per_step = 0; ///< of the model's products, all ranks, without recomputation
  double peak_operations = 0;     ///< operations a second, all ranks' devices; 0: unknown (yet)
  std::optional<RecomputeRecord> recompute = {}; ///< if configured
  std::string host = {};
  std::string version = {};
  std::chrono::system_clock::time_point started = {};
};

/// The end of a run, sent to every node. Steps and epochs count from the start of the run, times
/// from its last start.
struct RunResult {
  std::string status = "completed"; ///< completed, stopped, failed
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
  double seconds = 0;
  double samples_per_second = 0;
  std::optional<double> mfu = {};                      ///< mean over the time of steps
  double loss = 0;                                     ///< of the last step
  std::optional<double> test_loss = {}, accuracy = {}; ///< of the last evaluation
  std::string parameters_sha256 = {};
};

/// The content of summary.json. Counts start at the last start of the run.
struct RunSummary : RunInfo, RunResult {
  std::string error = {}; ///< what failed
  std::int64_t samples = 0;
  double overlap_ratio = 0;
  std::optional<double> loss_scale = {}; ///< after the last step, with loss scaling
  std::int64_t skipped_steps = 0;
  std::int64_t scale_growths = 0;
  /// On the leader, with data.skip_unreadable: samples whose file it could not read, and the number
  /// of these files.
  std::int64_t unreadable_samples = 0, unreadable_files = 0;
  std::int64_t checkpoints = 0;
  std::int64_t checkpoint_failures = 0;
  double checkpoint_seconds = 0; ///< in which training paused for checkpoints
  std::string checkpoint = {};   ///< file of the last one written by this process; empty: none
  std::vector<WorkerSummary> workers = {};
};

} // namespace troupe::metrics
