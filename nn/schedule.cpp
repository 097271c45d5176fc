#include "schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace troupe::nn {

namespace {

double decay_by_milestones(const ScheduleConfig& schedule, double lr, std::int64_t step,
                           const ScheduleSpan& span) {
  const auto passed =
      std::count_if(schedule.milestones.begin(), schedule.milestones.end(), [&](double epoch) {
        return static_cast<double>(step) >=
               std::round(epoch * static_cast<double>(span.steps_per_epoch));
      });
  return lr * std::pow(schedule.gamma, static_cast<double>(passed));
}

double decay_by_cosine(double lr, double min_lr, double done, double length) {
  const double progress = length > 0 ? std::clamp(done / length, 0.0, 1.0) : 1.0;
  return min_lr + (lr - min_lr) * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
}

} // namespace

double learning_rate(const ScheduleConfig& schedule, double lr, std::int64_t step,
                     const ScheduleSpan& span) {
  const auto warmup = static_cast<std::int64_t>(
      std::llround(schedule.warmup * static_cast<double>(span.steps_per_epoch)));
  if (step < warmup)
    return lr * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (schedule.name == "step")
    return decay_by_milestones(schedule, lr, step, span);
  if (schedule.name == "cosine")
    return decay_by_cosine(lr, schedule.min_lr, static_cast<double>(step - warmup),
                           static_cast<double>(span.total_steps - warmup));
  return lr;
}

} // namespace troupe::nn
