#include "training/job_plan.hpp"

#include "core/config/config.hpp"
#include "core/config/data_sets.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::training {

namespace {

std::int64_t steps_of(const Interval& every, std::int64_t steps_per_epoch) {
  switch (every.unit) {
  case Interval::Unit::never:
    return 0;
  case Interval::Unit::steps:
    return every.count;
  case Interval::Unit::epochs:
    return every.count * steps_per_epoch;
  }
  return 0;
}

std::int64_t steps_of_tokens(double tokens, const DataConfig& data) {
  const auto each = static_cast<double>(std::max<std::int64_t>(1, tokens_per_step(data)));
  return std::max<std::int64_t>(1, std::llround(tokens / each));
}

std::int64_t length_of(const Config& config, std::int64_t steps_per_epoch) {
  const auto& train = config.train;
  std::int64_t steps = 1'000'000'000'000'000; // far from overflow when steps are added
  if (train.epochs)
    steps = std::min(steps, *train.epochs * steps_per_epoch);
  if (train.max_steps)
    steps = std::min(steps, *train.max_steps);
  if (train.max_tokens)
    steps = std::min(steps, steps_of_tokens(*train.max_tokens, config.data));
  return steps;
}

/// The next multiple of `every` above `done`. INT64_MAX, which no job reaches, if `every` is 0.
std::int64_t next_multiple(std::int64_t done, std::int64_t every) {
  return every == 0 ? INT64_MAX : (done / every + 1) * every;
}

} // namespace

JobPlan::JobPlan(const Config& config, std::int64_t steps_per_epoch)
    : steps_per_epoch_{steps_per_epoch}, total_steps_{length_of(config, steps_per_epoch)},
      evaluate_every_{config.train.evaluate_every}, save_every_{steps_of(config.checkpoint.every,
                                                                         steps_per_epoch)},
      sample_every_{steps_of(config.train.sample.every, steps_per_epoch)},
      saves_best_{config.checkpoint.best != BestMetric::none} {}

bool JobPlan::epoch_ends(std::int64_t done) const {
  return done > 0 && (done % steps_per_epoch_ == 0 || done == total_steps_);
}

bool JobPlan::evaluation_due(std::int64_t done) const {
  if (evaluate_every_ == 0 || !epoch_ends(done))
    return false;
  return done == total_steps_ || done / steps_per_epoch_ % evaluate_every_ == 0;
}

bool JobPlan::checkpoint_due(std::int64_t done) const {
  return save_every_ != 0 && done > 0 && (done % save_every_ == 0 || done == total_steps_);
}

bool JobPlan::sample_due(std::int64_t done) const {
  return sample_every_ != 0 && done > 0 && (done % sample_every_ == 0 || done == total_steps_);
}

std::int64_t JobPlan::next_pause(std::int64_t done) const {
  return std::min({next_multiple(done, evaluate_every_ * steps_per_epoch_),
                   next_multiple(done, save_every_), next_multiple(done, sample_every_),
                   total_steps_});
}

} // namespace troupe::training
