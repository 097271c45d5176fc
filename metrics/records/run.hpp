/// The records of a whole run: run.json and summary.json.
#pragma once

#include "core/config/strategies.hpp"
#include "metrics/records/field.hpp"
#include "metrics/records/step.hpp"
#include "metrics/records/worker.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace troupe::metrics {

/// Memory that train.recompute saves each worker in a training step, and its cost.
struct RecomputeRecord {
  std::uint64_t activation_bytes = 0; ///< in the memory plan
  std::uint64_t activation_bytes_without = 0;
  double operations_ratio = 0; ///< recomputed ones, divided by those without recompute
};

template <>
inline constexpr auto fields_of<RecomputeRecord> =
    std::tuple{field("activation_bytes", &RecomputeRecord::activation_bytes),
               field("activation_bytes_without", &RecomputeRecord::activation_bytes_without),
               field("operations_ratio", &RecomputeRecord::operations_ratio)};

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
  std::int64_t checkpoint_interval = 0; ///< steps; 0: none are written. Not in run.json
  double operations_per_step = 0; ///< of the model's products, all ranks, without recomputation
  double peak_operations = 0;     ///< operations a second, all ranks' devices; 0: unknown (yet)
  std::optional<RecomputeRecord> recompute = {}; ///< if configured
  std::string host = {};
  std::string version = {};
  std::chrono::system_clock::time_point started = {};
};

/// run.json
template <>
inline constexpr auto fields_of<RunInfo> = std::tuple{
    field("name", &RunInfo::name),
    field("model", &RunInfo::model),
    field("dataset", &RunInfo::dataset),
    field("sample_name", &RunInfo::sample_name),
    field("tokens_per_sample", &RunInfo::tokens_per_sample),
    field("class_names", &RunInfo::class_names),
    field("strategy", &RunInfo::strategy),
    field("precision", &RunInfo::precision),
    field("world_size", &RunInfo::world_size),
    field("batch_size", &RunInfo::batch_size),
    field("steps_per_epoch", &RunInfo::steps_per_epoch),
    field("total_steps", &RunInfo::total_steps),
    field("first_step", &RunInfo::first_step),
    field("operations_per_step", &RunInfo::operations_per_step),
    field("peak_operations_per_second", &RunInfo::peak_operations, {.if_empty = IfEmpty::null}),
    field("started", &RunInfo::started, {.if_empty = IfEmpty::null, .in_whole_seconds = true}),
    field("host", &RunInfo::host),
    field("version", &RunInfo::version),
    field("recompute", &RunInfo::recompute)};

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
struct RunSummary : RunInfo, RunResult, LossScaling {
  std::string error = {}; ///< what failed
  std::int64_t samples = 0;
  double overlap_ratio = 0;
  /// On the leader, with data.skip_unreadable: samples whose file it could not read, and the number
  /// of these files.
  std::int64_t unreadable_samples = 0, unreadable_files = 0;
  std::int64_t checkpoints = 0;
  std::int64_t checkpoint_failures = 0;
  double checkpoint_seconds = 0; ///< in which training paused for checkpoints
  std::string checkpoint = {};   ///< file of the last one written by this process; empty: none
  std::vector<WorkerSummary> workers = {};
};

/// summary.json
template <>
inline constexpr auto fields_of<RunSummary> = std::tuple_cat(
    std::tuple{field("name", &RunSummary::name),
               field("status", &RunSummary::status),
               field("error", &RunSummary::error, {.if_empty = IfEmpty::null}),
               field("epochs", &RunSummary::epochs),
               field("steps", &RunSummary::steps),
               field("samples", &RunSummary::samples),
               field("seconds", &RunSummary::seconds),
               field("samples_per_second", &RunSummary::samples_per_second),
               field("mfu", &RunSummary::mfu),
               field("operations_per_step", &RunSummary::operations_per_step),
               field("tokens_per_sample", &RunSummary::tokens_per_sample),
               field("loss", &RunSummary::loss),
               field("test_loss", &RunSummary::test_loss),
               field("accuracy", &RunSummary::accuracy),
               field("model", &RunSummary::model),
               field("dataset", &RunSummary::dataset),
               field("class_names", &RunSummary::class_names),
               field("world_size", &RunSummary::world_size),
               field("strategy", &RunSummary::strategy),
               field("precision", &RunSummary::precision),
               field("batch_size", &RunSummary::batch_size),
               field("steps_per_epoch", &RunSummary::steps_per_epoch),
               field("total_steps", &RunSummary::total_steps),
               field("first_step", &RunSummary::first_step),
               field("parameters_sha256", &RunSummary::parameters_sha256),
               field("overlap_ratio", &RunSummary::overlap_ratio),
               field("unreadable_samples", &RunSummary::unreadable_samples),
               field("unreadable_files", &RunSummary::unreadable_files),
               field("checkpoints", &RunSummary::checkpoints),
               field("checkpoint_failures", &RunSummary::checkpoint_failures),
               field("checkpoint_seconds", &RunSummary::checkpoint_seconds),
               field("checkpoint", &RunSummary::checkpoint, {.if_empty = IfEmpty::null}),
               field("workers", &RunSummary::workers),
               field("started", &RunSummary::started, {.in_whole_seconds = true}),
               field("host", &RunSummary::host),
               field("version", &RunSummary::version)},
    fields_of<LossScaling>,
    std::tuple{field("recompute", &RunSummary::recompute, {.if_empty = IfEmpty::omit})});

} // namespace troupe::metrics
