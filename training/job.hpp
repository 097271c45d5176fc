/// The definition of a run: everything that follows from its config, its data and its resume point,
/// and does not depend on the membership.
#pragma once

#include "core/checkpoint/store.hpp"
#include "core/config/config.hpp"
#include "core/device/loss_scale.hpp"
#include "core/device/optimizer_math.hpp"
#include "core/graph/precision.hpp"
#include "data/batch.hpp"
#include "data/slice_assignment.hpp"
#include "metrics/records/run.hpp"
#include "training/job_plan.hpp"
#include "training/node_assignment.hpp"
#include "training/resume.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::training {

struct Job {
  Config config;
  JobPlan plan;
  std::filesystem::path folder; ///< runs/NAME
  std::shared_ptr<const data::BatchAssembler> training;
  /// Null if the job never evaluates; not yet assigned to ranks.
  std::shared_ptr<const data::BatchAssembler> evaluation = {};
  std::string data_fingerprint = {}; ///< of the training set
  // Pure functions of the step.
  std::function<double(std::int64_t step)> learning_rate = {};
  std::function<OptimizerArguments(std::int64_t step)> optimizer = {};
  /// Those to replay (data.replay_assignment), in the order of their first steps.
  std::vector<data::SliceAssignment> recorded_assignments = {};
  std::optional<LossScaleOptions> loss_scale = {}; ///< empty if losses are not scaled
  std::map<std::string, std::string> checkpoint_metadata = {};
  Precision precision = Precision::fp32;
  std::string arithmetic = {}; ///< how this machine computes in that precision
  /// Warnings for the user: deprecated keys, skipped checkpoints, moved folders.
  std::vector<std::string> notes = {};

  /// Whether a rank writes files of a checkpoint.
  bool saves(int rank) const { return rank == 0 || config.checkpoint.is_sharded(); }
  /// Opens the run's checkpoints. `writer`: writer of the run's files (core/staging.hpp); empty for
  /// read-only use.
  CheckpointStore checkpoints(std::string_view writer = {}) const;
};

/// The data sets of a run, as far as they follow from the config only.
struct OpenData {
  std::shared_ptr<const data::BatchAssembler> training;
  std::shared_ptr<const data::BatchAssembler> evaluation = {}; ///< null if the job never evaluates
  TrainingData identity = {};
};

/// Opens the training and the test set. Blocks on files. Errors: data, invalid_input.
Result<OpenData> open_data(const Config& config);

std::string host_name();

/// Returns the metric (checkpoint.best) of the run's best checkpoint. Empty if no checkpoint is
/// marked best or it cannot be read; the next one then becomes the best. Blocks on files.
std::optional<double> best_before(const Job& job);

/// Returns the parts of a run's description that follow from its config.
metrics::RunInfo run_info(const Config& config, const std::string& version = {});

/// Plans the run on opened data. `leads`: this node leads the job; only the leader has the
/// checkpoint's metadata and the run's folder. Blocks on files. Errors: data (missing or damaged
/// files); invalid_input (settings contradict each other, or the resume point is of other data or
/// past the job's last step).
Result<std::shared_ptr<const Job>> open_job(const Config& config, const OpenData& data,
                                            const ResumePoint& resume_point, bool leads);

} // namespace troupe::training
