/// The record of a step: a line of events.jsonl.
#pragma once

#include "metrics/records/field.hpp"
#include "metrics/records/shared_metrics.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
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

template <>
inline constexpr auto fields_of<CollectiveUse> =
    std::tuple{field("bytes", &CollectiveUse::bytes), field("seconds", &CollectiveUse::seconds)};

using CollectiveUses =
    std::array<CollectiveUse, collective_kind_names.size()>; ///< by CollectiveKind

/// The state of loss scaling after a step (core/device/loss_scale.hpp), part of other records.
/// Empty without loss scaling. Counts are of the whole run.
struct LossScaling {
  std::optional<double> loss_scale = {};
  std::optional<std::int64_t> skipped_steps = {}; ///< not finite, so the scale was lowered
  std::optional<std::int64_t> scale_growths = {}; ///< the scale was raised
};

/// registry/registry.cpp exports the scale, which is 1 without loss scaling.
template <>
inline constexpr auto fields_of<LossScaling> = std::tuple{
    field("loss_scale", &LossScaling::loss_scale,
          {.if_empty = IfEmpty::omit, .tag = "train/loss_scale"}),
    field("skipped_steps", &LossScaling::skipped_steps,
          {.if_empty = IfEmpty::omit,
           .metric = {"troupe_skipped_steps_total", names::counter, names::leader,
                      "Steps of the run that were skipped because gradients were not finite; each "
                      "one lowered the loss scale"},
           .is_total = true}),
    field("loss_scale_growths", &LossScaling::scale_growths,
          {.if_empty = IfEmpty::omit,
           .metric = {"troupe_loss_scale_growths_total", names::counter, names::leader,
                      "Number of times that the run raised the loss scale"},
           .is_total = true})};

/// With metrics.reads, one slice as received by a parameter server shard: its gradients came in
/// `parts` buckets, computed with parameter version `read` (the number of steps applied to the
/// parameters).
struct SliceRead {
  std::int32_t slice = 0;
  std::int64_t read = 0;
  std::int32_t parts = 0;
};

template <>
inline constexpr bool is_written_as_list<SliceRead> = true;
template <>
inline constexpr auto fields_of<SliceRead> =
    std::tuple{field("slice", &SliceRead::slice), field("version", &SliceRead::read),
               field("parts", &SliceRead::parts)};

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

template <>
inline constexpr bool is_written_as_list<RoundTaken::Change> = true;
template <>
inline constexpr auto fields_of<RoundTaken::Change> =
    std::tuple{field("replica_group", &RoundTaken::Change::replica_group),
               field("step", &RoundTaken::Change::step)};

template <>
inline constexpr bool is_written_as_list<RoundTaken> = true;
template <>
inline constexpr auto fields_of<RoundTaken> =
    std::tuple{field("owner", &RoundTaken::owner), field("fragment", &RoundTaken::fragment),
               field("step", &RoundTaken::step),
               field("is_synchronized", &RoundTaken::is_synchronized),
               field("changes", &RoundTaken::changes)};

/// One step that all ranks have committed.
struct StepRecord : LossScaling {
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
  CollectiveUses collectives = {};
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

  /// Time that the step's products would take at the devices' peak; nan if unknown.
  double peak_seconds() const {
    return seconds > 0 ? mfu.value_or(std::numeric_limits<double>::quiet_NaN()) * seconds : 0;
  }
};

/// Metrics that need more than one field's value are set in registry/registry.cpp.
template <>
inline constexpr auto fields_of<StepRecord> = std::tuple_cat(
    std::tuple{
        field("step", &StepRecord::step), field("epoch", &StepRecord::epoch),
        field("time", &StepRecord::time),
        field("loss", &StepRecord::loss,
              {.metric = names::loss, .label = "train", .tag = "train/loss"}),
        field("accuracy", &StepRecord::accuracy,
              {.metric = names::accuracy, .label = "train", .tag = "train/accuracy"}),
        field("lr", &StepRecord::lr,
              {.metric = {"troupe_learning_rate", names::gauge, names::leader,
                          "Learning rate of the last step"},
               .tag = "train/learning_rate"}),
        field("samples", &StepRecord::samples,
              {.metric = {"troupe_samples_total", names::counter, names::leader,
                          "Samples trained on by this process"}}),
        field("seconds", &StepRecord::seconds,
              {.metric = names::step_time, .tag = "time/step_seconds"}),
        field("data_wait_seconds", &StepRecord::data_wait_seconds,
              {.metric = {"troupe_data_wait_seconds_total", names::counter, names::leader,
                          "Time of waiting for batches, of the rank that waited longest"},
               .tag = "time/data_wait_seconds"}),
        field("compute_seconds", &StepRecord::compute_seconds, {.tag = "time/compute_seconds"}),
        field("optimizer_seconds", &StepRecord::optimizer_seconds,
              {.tag = "time/optimizer_seconds"}),
        field("collective_bytes", &StepRecord::collective_bytes),
        field("collective_seconds", &StepRecord::collective_seconds,
              {.tag = "time/collective_seconds"}),
        field("collectives", &StepRecord::collectives),
        field("overlap_ratio", &StepRecord::overlap_ratio,
              {.metric = {"troupe_overlap_ratio", names::gauge, names::leader,
                          "Share of the last step's collectives that overlapped with compute"}}),
        field("mfu", &StepRecord::mfu, {.if_empty = IfEmpty::omit, .tag = "throughput/mfu"}),
        field("gradient_norm", &StepRecord::gradient_norm,
              {.if_empty = IfEmpty::omit,
               .metric = {"troupe_gradient_norm", names::gauge, names::leader,
                          "Global L2 norm of the last measured gradient, before "
                          "train.clip_grad changes it; measured in every step with that key, "
                          "otherwise as often as train.gradient_norm_every"},
               .tag = "train/gradient_norm"}),
        field("slice_assignment", &StepRecord::slice_assignment, {.if_empty = IfEmpty::omit}),
        // The name before 0.2, until 0.3.
        field("dealing", &StepRecord::slice_assignment, {.if_empty = IfEmpty::omit}),
        field("staleness", &StepRecord::staleness,
              {.if_empty = IfEmpty::omit,
               .metric = {"troupe_staleness_steps", names::gauge, names::leader,
                          "parallel.strategy async: staleness, in steps, of the parameters with "
                          "which the last step's gradients were computed, mean over slices and "
                          "shards"},
               .tag = "train/staleness"}),
        field("work_item_seconds", &StepRecord::item_seconds,
              {.if_empty = IfEmpty::omit,
               .metric = {"troupe_work_item_seconds", names::gauge, names::leader,
                          "parallel.strategy async: longest time for which a slice of the last "
                          "step was assigned to a worker"},
               .tag = "time/work_item_seconds"}),
        // The name before 0.2, until 0.3.
        field("lease_seconds", &StepRecord::item_seconds,
              {.if_empty = IfEmpty::omit,
               .metric = {"troupe_lease_seconds", names::gauge, names::leader,
                          "Deprecated name of troupe_work_item_seconds, removed in 0.3"},
               .tag = "time/lease_seconds"}),
        field("reads", &StepRecord::reads, {.if_empty = IfEmpty::omit}),
        field("drift", &StepRecord::drift,
              {.if_empty = IfEmpty::omit,
               .metric = {"troupe_worker_drift_ratio", names::gauge, names::leader,
                          "parallel.strategy local_sgd: root mean square distance of the workers' "
                          "parameters from their mean when they were last averaged, relative to "
                          "the norm of the mean; diloco: distance of the replica groups' "
                          "pseudo-gradients from their sum, for the fragments that were last "
                          "applied, in rank 0's shard, relative to the norm of the parameters"},
               .tag = "train/drift"}),
        field("round_bytes", &StepRecord::round_bytes,
              {.if_empty = IfEmpty::omit,
               .metric = {"troupe_round_bytes", names::gauge, names::leader,
                          "parallel.strategy local_sgd, diloco: bytes that all ranks sent for the "
                          "rounds that ended last; diloco: pseudo-gradients of fragments, and "
                          "their sums"},
               .tag = "train/round_bytes"}),
        field("rounds", &StepRecord::rounds, {.if_empty = IfEmpty::omit})},
    fields_of<LossScaling>);

} // namespace troupe::metrics
