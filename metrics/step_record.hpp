/// What actors report of a run: plain values that registry, run folder and console take.
/// Steps and epochs are counted from 0, as in the sampler; what people read counts from 1.
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
  shard_replica ///< gradients to who has a copy of a rank's shard
};

inline constexpr std::array<std::string_view, 6> collective_kind_names = {
    "all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "buddy"};

constexpr std::string_view to_string(CollectiveKind kind) {
  return collective_kind_names[static_cast<std::size_t>(kind)];
}

/// What the collectives of one kind took in a step.
struct CollectiveUse {
  std::uint64_t bytes = 0; ///< summed over ranks
  double seconds = 0;      ///< mean over ranks

  bool operator==(const CollectiveUse&) const = default;
};

/// What the owner of a shard was told of a slice: of how many buckets, computed with which version
/// of the parameters (the number of steps that they were the work of).
struct SliceRead {
  std::int32_t slice = 0;
  std::int64_t read = 0;
  std::int32_t parts = 0;
};

/// Where teams train apart: whose changes of a fragment its owner has summed up, for the round that
/// ended behind `step`, or where all met behind it.
struct RoundTaken {
  struct Change {
    std::int32_t replica_group = 0;
    std::int64_t step = 0; ///< behind which its round ended
  };
  std::int32_t owner = 0, fragment = 0;
  std::int64_t step = 0;
  bool is_meeting = false;
  std::vector<Change> changes = {};
};

/// One step that all ranks have committed.
struct StepRecord {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::chrono::system_clock::time_point time = {}; ///< when it was committed
  double loss = 0;                                 ///< mean over the global batch
  /// Part of the global batch that was classified right; empty where there are no classes.
  std::optional<double> accuracy = {};
  double lr = 0;
  std::int64_t samples = 0;               ///< of the global batch
  std::vector<int> slice_assignment = {}; ///< slices of each rank; empty: as in the step before
  /// Where workers are asynchronous: how many steps the parameters lacked that its gradients were
  /// computed with, mean over slices and shards; and the longest that a slice was with a worker.
  std::optional<double> staleness = {}, item_seconds = {};
  /// Of the same, by shard: what it was told of each slice. Empty unless it is to be recorded.
  std::vector<std::vector<SliceRead>> reads = {};
  double seconds = 0;                 ///< since the step before was committed
  double data_wait_seconds = 0;       ///< of the rank that waited longest for its batch
  double compute_seconds = 0;         ///< in forward and backward, mean over ranks
  double optimizer_seconds = 0;       ///< in the optimizer beside no computing, mean over ranks
  std::uint64_t collective_bytes = 0; ///< summed over ranks
  double collective_seconds = 0;      ///< mean over ranks
  std::array<CollectiveUse, collective_kind_names.size()> collectives = {}; ///< by CollectiveKind
  double overlap_ratio = 0; ///< the part of collective_seconds in which the rank also computed
  /// Model FLOPs utilization (Chowdhery et al., "PaLM", 2022): operations of the step's products, a
  /// second, as a part of what all ranks' devices do at most; empty: nobody knows that.
  std::optional<double> mfu = {};
  /// A second, of all ranks' devices, as far as measured by then; 0: nobody knows. Not written.
  double peak_operations = 0;
  /// Global L2 norm of the gradient before it was clipped by that; empty: not measured in this
  /// step.
  std::optional<double> gradient_norm = {};
  /// Where workers trained apart and were averaged at the end of this step, or teams' changes were
  /// applied before it: the root mean square of how far parameters were from the mean, as a part of
  /// its norm.
  std::optional<double> drift = {};
  /// Where workers meet at the ends of rounds: of collective_bytes, those that such have sent.
  std::uint64_t round_bytes = 0;
  /// Where teams train apart, what owners have summed up since the step before. Empty unless it is
  /// to be recorded.
  std::vector<RoundTaken> rounds = {};
  std::optional<double> loss_scale = {}; ///< after the step, where losses are scaled
  std::int64_t skipped_steps = 0; ///< of the whole run: gradients were not finite, the scale fell
  std::int64_t scale_growths = 0; ///< of the whole run: the scale rose

  /// In which the devices could have made the step's products; nan where nobody knows.
  double peak_seconds() const {
    return seconds > 0 ? mfu.value_or(std::numeric_limits<double>::quiet_NaN()) * seconds : 0;
  }
};

/// The end of an epoch. Test values are empty when it was not evaluated.
struct EpochRecord {
  std::int64_t epoch = 0;
  std::optional<std::int64_t> step = {}; ///< the last one made in it; earlier versions wrote none
  std::chrono::system_clock::time_point time = {}; ///< when it ended
  double train_loss = 0;
  std::optional<double> train_accuracy = {};
  std::optional<double> test_loss = {};
  std::optional<double> test_accuracy = {};
  double seconds = 0;                      ///< with evaluation
  std::optional<double> test_seconds = {}; ///< of the evaluation
};

/// What one worker used. The four totals are peaks.
struct WorkerSummary {
  int rank = 0;
  std::string device = {}; ///< DeviceInfo::name
  std::uint64_t peak_memory_bytes = 0;
  std::uint64_t parameter_bytes = 0;
  std::uint64_t gradient_bytes = 0;
  std::uint64_t optimizer_bytes = 0;
  double busy_ratio = 0; ///< the part of its steps' time in forward and backward
  MemoryUse memory = {}; ///< by kind, current and peak
  // Of the steps since the run was last started.
  std::int64_t steps = 0;
  double step_seconds = 0; ///< of all of them, from commit to commit
  double compute_seconds = 0;
  double data_wait_seconds = 0;
  double collective_seconds = 0;  ///< in which the rank did not compute
  double optimizer_seconds = 0;   ///< likewise
  std::int64_t ready_batches = 0; ///< that were filled when the last step ended
  // Of its device; 0: nobody knows.
  std::uint64_t memory_limit_bytes = 0;
  double peak_operations = 0; ///< a second, in the run's precision
};

/// A checkpoint that was written.
struct CheckpointRecord {
  std::int64_t step = 0;
  double seconds = 0;       ///< that writing took
  double pause_seconds = 0; ///< in which nothing was trained because of it
  std::uint64_t bytes = 0;  ///< of all its files
};

/// A generation that began while the run went on: nodes were lost, or came. Times in seconds, by
/// the leader's clock.
struct RecoveryRecord {
  std::chrono::system_clock::time_point time; ///< of its first step's end
  std::int64_t generation = 0;
  std::string reason = {};
  bool is_loss = false;
  std::int64_t step = 0;           ///< the first, from 0
  std::int64_t steps_repeated = 0; ///< that had been committed before
  std::int32_t world_size = 0;
  double detect = 0;     ///< a lost node was silent, before it was taken for lost
  double halt = 0;       ///< until all had come together again
  double heal = 0;       ///< until all had the state, as far as the leader gave or took it
  double connect = 0;    ///< until their ranks were connected
  double first_step = 0; ///< until that was committed

  double seconds() const { return detect + halt + heal + connect + first_step; }
};

/// What a language model writes behind a prompt, to see what it has come to.
struct GeneratedRecord {
  std::int64_t step = 0;                           ///< steps that it had made
  std::chrono::system_clock::time_point time = {}; ///< when the text was there
  std::string prompt = {}, text = {};              ///< text: without the prompt
  std::int64_t tokens = 0;                         ///< of the text
  double seconds = 0;                              ///< that they took
};

/// What train.recompute saves each worker in a training step, and what it takes.
struct RecomputeRecord {
  std::uint64_t activation_bytes = 0; ///< of the memory plan
  std::uint64_t activation_bytes_without = 0;
  double operations_ratio = 0; ///< made again, to those that a step without it takes
};

/// What is known of a run before its first step.
struct RunInfo {
  std::string name = "run";
  std::string model = {};                    ///< "resnet20"
  std::string dataset = {};                  ///< "cifar10"
  std::vector<std::string> class_names = {}; ///< by label
  std::string sample_name = "images";        ///< what a sample is, for speed
  std::int64_t tokens_per_sample = 0;        ///< 0: samples are no texts
  StrategyKind strategy = StrategyKind::single;
  std::string precision = "fp32";
  std::int32_t world_size = 1;
  std::int64_t batch_size = 0; ///< global
  std::int64_t steps_per_epoch = 0;
  std::int64_t total_steps = 0;         ///< at which the run ends
  std::int64_t first_step = 0;          ///< above 0 when resumed
  std::int64_t checkpoint_interval = 0; ///< steps; 0: none are written
  double operations_per_step = 0;       ///< of the model's products, all ranks; none made again
  double peak_operations = 0;           ///< a second, of all ranks' devices; 0: nobody knows (yet)
  std::optional<RecomputeRecord> recompute = {}; ///< where it was asked for
  std::string host = {};
  std::string version = {};
  std::chrono::system_clock::time_point started = {};
};

/// How a run ended, as every node of it hears. Steps and epochs are those of the whole run, times
/// those since it was last started.
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

/// All that summary.json has. Counts are those since the run was last started.
struct RunSummary : RunInfo, RunResult {
  std::string error = {}; ///< what failed
  std::int64_t samples = 0;
  double overlap_ratio = 0;
  std::optional<double> loss_scale = {}; ///< after the last step, where losses are scaled
  std::int64_t skipped_steps = 0;
  std::int64_t scale_growths = 0;
  /// Of the node that leads, with data.skip_unreadable: samples whose file it could not read, and
  /// how many files these are.
  std::int64_t unreadable_samples = 0, unreadable_files = 0;
  std::int64_t checkpoints = 0;
  std::int64_t checkpoint_failures = 0;
  double checkpoint_seconds = 0; ///< in which nothing was trained because of checkpoints
  std::string checkpoint = {};   ///< file of the last one that this process wrote; empty: none
  std::vector<WorkerSummary> workers = {};
};

} // namespace troupe::metrics
