#include "training/profile/step_profile.hpp"

#include "core/config/config.hpp"
#include "core/fail.hpp"
#include "training/generation.hpp"
#include "training/reducer/reducer.hpp"

#include <mutex>
#include <optional>
#include <tuple>

namespace troupe::training {

namespace {

double seconds_between(const EventPtr& begin, const EventPtr& end) {
  return std::chrono::duration<double>(end->time() - begin->time()).count();
}

/// Bytes that the optimizer reads and writes: gradients are read, parameters and state are read and
/// written, and copies of parameters written.
double bytes_of_optimizer(const ModelState& state) {
  double bytes = 0;
  for (const auto& chunk : state.buffers().part().kept_chunks()) {
    const int arrays = 1 + (chunk.state0 ? 1 : 0) + (chunk.state1 ? 1 : 0);
    const auto copied = chunk.copies ? size_of(chunk.copied) : 0;
    bytes += static_cast<double>(chunk.elements) *
             static_cast<double>(static_cast<std::size_t>(1 + 2 * arrays) * sizeof(float) + copied);
  }
  return bytes;
}

/// The only rank of a job. Does what its actors do in a step.
class ProfiledRank {
public:
  ProfiledRank(std::shared_ptr<Generation> generation, ProfileRows& rows)
      : generation_{std::move(generation)}, rank_state_{*generation_->rank_states.front()},
        reducer_{generation_->reducer(generation_->rank_states.front())}, rows_{rows} {}

  /// Returns the step's time without loading batches. `counts`: its times are added to the rows.
  Result<double> train(std::int64_t step, bool counts);

private:
  Status load(std::int64_t pass);
  Result<double> run_pass(std::int64_t pass, StepWork& work, bool counts);
  void settle_statistics(std::int64_t pass) const;
  void accumulate(std::int64_t pass, const StepWork& work);
  void update(std::int64_t pass, StepWork& work);
  UnitId last_unit() const {
    return static_cast<UnitId>(rank_state_.train().layout().unit_elements.size()) - 1;
  }
  Stream& stream() const { return *rank_state_.compute; }
  const data::SliceAssignment& slices() const { return reducer_.slice_assignment(); }

  std::shared_ptr<Generation> generation_;
  const RankState& rank_state_;
  GradientReducer reducer_;
  ProfileRows& rows_;
  StepResults found_;
};

Result<double> ProfiledRank::train(std::int64_t step, bool counts) {
  StepWork work{.plan = reducer_.step_plan(step)};
  double seconds = 0;
  for (int i = 0; i < slices().passes(); ++i) {
    const auto pass = slices().pass_of(step) + i;
    TROUPE_TRY(load(pass));
    TROUPE_TRY(const auto time, run_pass(pass, work, counts));
    seconds += time;
  }
  return seconds;
}

Status ProfiledRank::load(std::int64_t pass) {
  std::mutex mutex;
  std::optional<Error> failed;
  const auto step = slices().step_of(pass);
  auto& producer = *rank_state_.producers[index_of(PassMode::training)];
  const auto batch = producer.fill(0, producer.sampler().position(step),
                                   *slices().slice(rank_state_.rank, pass), [&](Error error) {
                                     const std::lock_guard lock{mutex};
                                     failed = std::move(error);
                                   });
  stream().wait(batch.ready);
  const auto ready = stream().synchronize();
  for (const auto& loader : generation_->loader_streams) // it may still report its failure
    std::ignore = loader.stream->synchronize();
  if (failed)
    return failure(*std::move(failed));
  TROUPE_TRY(ready);
  return rank_state_.train().set_batch(batch.view);
}

Result<double> ProfiledRank::run_pass(std::int64_t pass, StepWork& work, bool counts) {
  const bool refreshes =
      slices().begins_step(pass) && !rank_state_.state->buffers().part().writes_copies();
  const auto begin = stream().record();
  if (refreshes)
    rank_state_.train().refresh_all(stream());
  const auto refreshed = stream().record();
  auto& train = rank_state_.train();
  train.set_gradient_mode(
      gradient_mode(reducer_.strategy(), train, slices().local_index(rank_state_.rank, pass)));
  TROUPE_TRY(const auto times, train.time_steps(stream()));
  settle_statistics(pass);
  const auto ran = stream().record();
  accumulate(pass, work);
  const auto accumulated = stream().record();
  update(pass, work);
  const auto end = stream().record();
  TROUPE_TRY(stream().synchronize());
  if (counts) {
    rows_.add(times);
    if (refreshes)
      rows_.add("refresh", seconds_between(begin, refreshed));
    if (slices().passes() > 1)
      rows_.add("accumulate", seconds_between(ran, accumulated));
    if (slices().ends_step(pass))
      rows_.add("optimizer", seconds_between(accumulated, end),
                bytes_of_optimizer(*rank_state_.state));
  }
  return seconds_between(begin, end);
}

/// As WORKER does.
void ProfiledRank::settle_statistics(std::int64_t pass) const {
  const auto& statistics = rank_state_.state->statistics();
  if (!statistics.keeps())
    return;
  if (slices().local_index(rank_state_.rank, pass) == 0)
    statistics.keep(stream());
  else if (slices().ends_step(pass))
    statistics.restore(stream());
}

void ProfiledRank::accumulate(std::int64_t pass, const StepWork& work) {
  for (UnitId unit = last_unit(); unit >= 0; --unit)
    reducer_.accumulate(unit, pass, work.plan);
}

void ProfiledRank::update(std::int64_t pass, StepWork& work) {
  const auto& plan = reducer_.plan();
  for (UnitId unit = last_unit(); unit >= 0; --unit)
    if (const auto& bucket = plan.buckets[plan.bucket_of[static_cast<std::size_t>(unit)]];
        unit == bucket.units.first)
      reducer_.finish_bucket(bucket, pass, work);
  if (!slices().ends_step(pass))
    return;
  reducer_.finish_step(&found_, work);
  reducer_.publish_rest(work);
}

Status check_profiled(const Config& config) {
  if (config.workers() != 1)
    return fail(Errc::invalid_input,
                "--profile times the step of one worker, and this config has {}; pass --set "
                "devices.count=1 --set cluster.nodes=1",
                config.workers());
  if (config.parallel.offloads())
    return fail(Errc::invalid_input,
                "--profile times steps whose state is on the device; unset parallel.offload");
  return {};
}

/// Returns the config of a run from the seed that neither evaluates nor resumes.
Config only_steps(Config config) {
  config.train.evaluate_every = 0;
  config.checkpoint.resume = {.kind = ResumeConfig::Kind::never};
  return config;
}

Result<std::shared_ptr<Generation>> build_rank(const Config& config, const SayLine& say) {
  TROUPE_TRY(const auto data, open_data(config));
  TROUPE_TRY(auto job, open_job(config, data, {}, true));
  TROUPE_TRY(const auto compiled,
             compile_job(std::move(job), config.slices(), nullptr, {.say = say}));
  TROUPE_TRY(auto generation, build_generation(compiled, single_node_assignment(1, host_name())));
  if (generation->strategy.is_asynchronous() || generation->strategy.has_replica_groups())
    return fail(Errc::invalid_input,
                "--profile times synchronous steps; pass --set parallel.strategy=single");
  return generation;
}

} // namespace

Result<StepProfile> profile_step(Config config, const ProfileOptions& options) {
  TROUPE_TRY(check_profiled(config));
  config = only_steps(std::move(config));
  TROUPE_TRY(auto generation, build_rank(config, options.say));
  const auto& job = generation->job();
  auto& devices = *generation->compiled_job->devices;
  StepProfile profile{.device = generation->rank_states.front()->device().info().name,
                      .arithmetic = job.arithmetic,
                      .samples = config.data.batch_size,
                      .steps = options.steps};
  TROUPE_TRY(profile.limits, devices.limits(0, job.precision));
  ProfileRows rows{profile.limits, options.by_shape};
  ProfiledRank rank{generation, rows};
  for (int i = 0; i < options.warm_up_steps + options.steps; ++i) {
    const bool counts = i >= options.warm_up_steps;
    TROUPE_TRY(const auto seconds, rank.train(i % job.plan.total_steps(), counts));
    profile.seconds += counts ? seconds / options.steps : 0;
  }
  profile.rows = rows.rows(options.steps, profile.seconds);
  return profile;
}

} // namespace troupe::training
