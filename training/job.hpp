/// What a run trains, on what data and in what course: all that follows from its config, its data
/// and where it begins, whoever takes part.
#pragma once

#include "core/checkpoint/store.hpp"
#include "core/config/config.hpp"
#include "core/device/loss_scale.hpp"
#include "core/device/optimizer_math.hpp"
#include "core/graph/precision.hpp"
#include "data/batch.hpp"
#include "metrics/report/recorded_assignment.hpp"
#include "metrics/step_record.hpp"
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
  std::shared_ptr<const data::BatchAssembler> evaluation = {}; ///< null: never; dealt to one rank
  std::string data_fingerprint = {};                           ///< of the training set
  // Pure functions of the step.
  std::function<double(std::int64_t step)> learning_rate = {};
  std::function<OptimizerArguments(std::int64_t step)> optimizer = {};
  metrics::RecordedAssignment slice_assignment = {}; ///< of the run whose dealing is repeated
  std::optional<LossScaleOptions> loss_scale = {};   ///< when losses are scaled
  std::map<std::string, std::string> checkpoint_metadata = {};
  Precision precision = Precision::fp32;
  std::string arithmetic = {}; ///< what the precision means on this machine
  std::vector<std::string> notes =
      {}; ///< what the user should know: deprecated keys, skipped checkpoints, moved folders

  /// Whether a rank writes files of a checkpoint.
  bool saves(int rank) const { return rank == 0 || config.checkpoint.is_sharded(); }
  /// `writer`: of the run's files (core/staging.hpp); empty: who only reads.
  CheckpointStore checkpoints(std::string_view writer = {}) const;
};

/// What a run trains on, as far as it follows from the config alone.
struct OpenData {
  std::shared_ptr<const data::BatchAssembler> training;
  std::shared_ptr<const data::BatchAssembler> evaluation = {}; ///< null: never
  TrainingData identity = {};
};

/// Blocks on files. Errors: data, invalid_input.
Result<OpenData> open_data(const Config& config);

std::string host_name();

/// By checkpoint.best, of the run's best checkpoint. Empty where there is none, or it cannot be
/// read: then the next one is the best. Blocks on files.
std::optional<double> best_before(const Job& job);

/// What is known of a run from its config alone.
metrics::RunInfo run_info(const Config& config, const std::string& version = {});

/// `leads`: this node, which alone has the checkpoint's metadata and the run's folder. Blocks on
/// files. Errors: data (missing or damaged files); invalid_input (does not fit together, or the
/// beginning is of other data, or behind the job's end).
Result<std::shared_ptr<const Job>> open_job(const Config& config, const ResumePoint& resume_point,
                                            bool leads = true);
/// The same with data that are open already.
Result<std::shared_ptr<const Job>> open_job(const Config& config, const OpenData& data,
                                            const ResumePoint& resume_point, bool leads);

} // namespace troupe::training
