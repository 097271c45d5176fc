#include "training/job.hpp"

#include "core/config/data_sets.hpp"
#include "core/config/validate.hpp"
#include "core/fail.hpp"
#include "core/staging.hpp"
#include "metrics/report/recorded_assignment.hpp"
#include "nn/config_check.hpp"
#include "nn/optimizer.hpp"
#include "nn/schedule.hpp"
#include "training/input/data_identity.hpp"
#include "training/model_card.hpp"
#include "training/platforms/platforms.hpp"
#include "training/resume_changes.hpp"
#include "training/sampling/training_sample.hpp"
#include "training/test_results.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace troupe::training {

namespace {

Result<std::shared_ptr<const data::BatchAssembler>> shared(Result<data::BatchAssembler> assembler) {
  if (!assembler)
    return failure(std::move(assembler).error());
  return std::make_shared<const data::BatchAssembler>(*std::move(assembler));
}

Job job_on(const Config& config, const OpenData& data) {
  return {.config = config,
          .plan = JobPlan{config, data.training->sampler().steps_per_epoch()},
          .folder = run_folder(config),
          .training = data.training,
          .evaluation = data.evaluation,
          .data_fingerprint = data.identity.fingerprint};
}

Status begin(Job& job, const ResumePoint& resume_point, bool leads) {
  job.notes = config_notes(job.config, nn::catalogue_of(job.config));
  std::ranges::copy(resume_point.notes, std::back_inserter(job.notes));
  job.checkpoint_metadata = checkpoint_metadata(job.config);
  job.checkpoint_metadata.merge(describe_data(job.training->dataset(), job.data_fingerprint));
  job.checkpoint_metadata.merge(describe_model(job.config, job.training->adapter()));
  if (leads) { // other nodes lack the checkpoint's metadata
    TROUPE_TRY(auto noted, check_same_data(resume_point, job.checkpoint_metadata));
    std::ranges::move(noted, std::back_inserter(job.notes));
    if (!resume_point.path.empty())
      std::ranges::move(
          changes_since(resume_point.state->header(), job.config, job.plan.steps_per_epoch()),
          std::back_inserter(job.notes));
  }
  const auto first_step = resume_point.state ? resume_point.state->header().step : 0;
  if (first_step > job.plan.total_steps())
    return fail(Errc::invalid_input,
                "the checkpoint is of step {}, but the job ends at step {}; to continue, raise "
                "train.epochs, train.max_steps or train.max_tokens; to start over, set "
                "checkpoint.resume to never",
                first_step, job.plan.total_steps());
  return {};
}

/// Whether max_steps may end a trial run before the schedule that other keys plan.
bool is_cut_short(const TrainConfig& train) {
  return train.max_steps && (train.epochs || train.max_tokens);
}

Status set_history(Job& job) {
  const auto& config = job.config;
  job.precision = config.precision.mode;
  job.arithmetic = platform_of(config.devices).arithmetic(config, job.precision);
  job.loss_scale = loss_scale_options(config.precision);
  auto first = nn::optimizer_arguments(config.train.optimizer);
  first.stored = stored_type(job.precision);
  if (const auto& largest = config.train.clip_grad_value)
    first.clip_value = static_cast<float>(*largest);
  const nn::ScheduleSpan span{job.plan.steps_per_epoch(), job.plan.total_steps(),
                              tokens_per_step(config.data)};
  if (!is_cut_short(config.train))
    TROUPE_TRY(nn::check_lengths(config.train.schedule, span));
  job.learning_rate = [lr = config.train.optimizer.lr, schedule = config.train.schedule,
                       span](std::int64_t step) {
    return nn::learning_rate(schedule, lr, step, span);
  };
  job.optimizer = [first, rate = job.learning_rate](std::int64_t step) {
    return nn::at_step(first, step, rate(step));
  };
  return {};
}

} // namespace

CheckpointStore Job::checkpoints(std::string_view writer) const {
  return CheckpointStore{folder / "checkpoints",
                         writer.empty() ? std::filesystem::path{} : staging_of(folder, writer)};
}

Result<OpenData> open_data(const Config& config) {
  OpenData data;
  TROUPE_TRY(data.training, shared(data::training_batches(config)));
  const auto& samples = data.training->dataset();
  data.identity = {samples.fingerprint(), samples.size()};
  if (config.train.evaluate_every > 0) {
    TROUPE_TRY(data.evaluation, shared(data::evaluation_batches(config)));
  }
  return data;
}

std::optional<double> best_before(const Job& job) {
  const auto best = job.checkpoints().best();
  const auto manifest = best ? read_manifest(best->path) : Result<Manifest>{};
  if (!best || !manifest)
    return std::nullopt;
  const auto results = test_results_of(manifest->metadata);
  return job.config.checkpoint.best == BestMetric::accuracy ? results.accuracy : results.loss;
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

metrics::RunInfo run_info(const Config& config, const std::string& version) {
  return {.name = config.run.name,
          .model = config.model.name,
          .dataset = config.data.dataset,
          .strategy = config.parallel.strategy,
          .precision = std::string{to_string(config.precision.mode)},
          .version = version};
}

Result<std::shared_ptr<const Job>> open_job(const Config& config, const OpenData& data,
                                            const ResumePoint& resume_point, bool leads) {
  auto job = job_on(config, data);
  TROUPE_TRY(begin(job, resume_point, leads));
  TROUPE_TRY(set_history(job));
  TROUPE_TRY(check_sample(config));
  if (const auto& recorded = config.data.replay_assignment) {
    // Every rank that trains apart needs at least one slice.
    const auto policy = traits_of(config.parallel.strategy).policy;
    const int least = policy == StepPolicy::local_sgd || policy == StepPolicy::diloco ? 1 : 0;
    TROUPE_TRY(const auto counts, metrics::read_slice_counts(*recorded, config.slices(), least));
    for (const auto& [step, by_rank] : counts)
      job.recorded_assignments.emplace_back(by_rank, step);
  }
  return std::make_shared<const Job>(std::move(job));
}

} // namespace troupe::training
