#include "nn/schedule.hpp"

#include "core/fail.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace troupe::nn {

namespace {

double unrounded_steps(const Length& length, const ScheduleSpan& span) {
  switch (length.unit) {
  case Length::Unit::epochs:
    return length.count * static_cast<double>(span.steps_per_epoch);
  case Length::Unit::steps:
    return length.count;
  case Length::Unit::tokens:
    return span.tokens_per_step > 0 ? length.count / static_cast<double>(span.tokens_per_step) : 0;
  case Length::Unit::percent:
    return length.count / 100 * static_cast<double>(span.total_steps);
  }
  return 0;
}

std::int64_t steps_of(const Length& length, const ScheduleSpan& span) {
  constexpr double most = 1e18; // no run is longer, and a larger value would overflow
  return std::llround(std::min(unrounded_steps(length, span), most));
}

double after_milestones(const ScheduleConfig& schedule, double lr, std::int64_t step,
                        const ScheduleSpan& span) {
  const auto passed = std::ranges::count_if(schedule.milestones, [&](const Length& milestone) {
    return step >= steps_of(milestone, span);
  });
  return lr * std::pow(schedule.gamma, static_cast<double>(passed));
}

/// Returns the completed fraction of the way from `begin` to `end`, 0 to 1.
double progress(std::int64_t step, std::int64_t begin, std::int64_t end) {
  if (begin >= end)
    return step < end ? 0 : 1;
  return std::clamp(static_cast<double>(step - begin) / static_cast<double>(end - begin), 0.0, 1.0);
}

double on_cosine(double lr, double min_lr, double done) {
  return min_lr + (lr - min_lr) * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
}

} // namespace

double learning_rate(const ScheduleConfig& schedule, double lr, std::int64_t step,
                     const ScheduleSpan& span) {
  const auto warmup = steps_of(schedule.warmup, span), end = span.total_steps;
  if (step < warmup)
    return lr * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (schedule.name == ScheduleKind::step)
    return after_milestones(schedule, lr, step, span);
  if (schedule.name == ScheduleKind::cosine)
    return on_cosine(lr, schedule.min_lr, progress(step, warmup, end));
  if (schedule.name == ScheduleKind::linear)
    return std::lerp(lr, schedule.min_lr, progress(step, warmup, end));
  if (schedule.name == ScheduleKind::wsd) {
    const auto begin = std::max(warmup, end - steps_of(schedule.decay, span));
    return std::lerp(lr, schedule.min_lr, std::sqrt(progress(step, begin, end)));
  }
  return lr;
}

Status check_lengths(const ScheduleConfig& schedule, const ScheduleSpan& span) {
  const auto warmup = steps_of(schedule.warmup, span), end = span.total_steps;
  // Not rounded, like the check of the config (core/config/validate_train.cpp): half a step of a
  // small run must not become a whole one.
  const auto is_past_end = [&](const Length& length) {
    return unrounded_steps(length, span) >= static_cast<double>(end);
  };
  if (is_past_end(schedule.warmup))
    return fail(Errc::invalid_input,
                "train.schedule.warmup: {} steps of warm-up, but the run has only {} steps", warmup,
                end);
  if (schedule.name == ScheduleKind::step)
    for (const auto& milestone : schedule.milestones)
      if (is_past_end(milestone))
        return fail(Errc::invalid_input,
                    "train.schedule.milestones: {}, step {}, is never reached in {} steps",
                    format_length(milestone), steps_of(milestone, span), end);
  if (const auto decay = steps_of(schedule.decay, span);
      schedule.name == ScheduleKind::wsd && decay > end - warmup)
    return fail(Errc::invalid_input,
                "train.schedule.decay: {} steps of warm-up and {} of decay are more than the run's "
                "{} steps",
                warmup, decay, end);
  return {};
}

} // namespace troupe::nn
