/// Everything a job needs before its first message: checked, opened, compiled, loaded. Made by
/// blocking calls, before there are actors; errors come back as values.
#pragma once

#include "feeding/fillers.hpp"
#include "job_plan.hpp"
#include "replica.hpp"
#include "resume.hpp"
#include "seat.hpp"

#include "troupe/collectives/gloo/store.hpp"
#include "troupe/core/checkpoint_store.hpp"
#include "troupe/core/precision.hpp"
#include "troupe/metrics/run_history.hpp"
#include "troupe/metrics/step_record.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::engine {

struct Job {
  Config config;
  Seat seat; ///< this node's
  JobPlan plan;
  std::filesystem::path folder;                   ///< runs/NAME
  std::vector<std::shared_ptr<Replica>> replicas; ///< this node's, by rank
  std::shared_ptr<const data::BatchAssembler> training, evaluation;
  std::string data_fingerprint; ///< of the training set
  std::vector<Fillers> fillers; ///< by replica
  std::vector<LoaderStream> loader_streams;
  metrics::Trace trace; ///< off unless it was asked for
  // Pure functions of the step.
  std::function<double(std::int64_t step)> learning_rate;
  std::function<OptimizerArguments(std::int64_t step)> optimizer;
  std::optional<LossScaleOptions> loss_scale; ///< when losses are scaled
  std::int64_t first_step = 0;
  std::map<std::string, std::string> checkpoint_metadata;
  metrics::RunInfo info;
  metrics::RunHistory history; ///< of the run's folder, when it goes on
  Precision precision = Precision::fp32;
  std::string arithmetic;         ///< what the precision means on this machine
  std::vector<std::string> notes; ///< what the user should know: skipped checkpoints, moved folders

  CheckpointStore checkpoints() const { return CheckpointStore{folder / "checkpoints"}; }
};

/// This node's part in a job, and what the job goes on from.
struct JobStart {
  Seat seat;
  Beginning beginning;
  std::shared_ptr<collectives::KeyValueStore> store = nullptr; ///< null where there is one node
  std::function<void(const std::string&)> say = {}; ///< told what preparing takes long for
};

std::string host_name();

/// What is known of a run from its config alone.
metrics::RunInfo run_info(const Config& config, const std::string& version = {});

/// A job of this node alone. Errors: as find_beginning.
Result<JobStart> start_alone(const Config& config);

/// Blocks until the ranks of all nodes are connected. Errors: data (missing or damaged files),
/// invalid_input (does not fit together), out_of_memory, unsupported (a device this machine has
/// not), network (another node did not come).
Result<std::shared_ptr<Job>> prepare_job(const Config& config, JobStart start,
                                         const metrics::Trace& trace = {});

} // namespace troupe::engine
