/// The record of a step: a line of events.jsonl.
#pragma once

#include "metrics/records/collective_use.hpp"
#include "metrics/records/field.hpp"
#include "metrics/records/loss_scaling.hpp"
#include "metrics/records/reads.hpp"
#include "metrics/records/shared_metrics.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

namespace troupe::metrics {

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
