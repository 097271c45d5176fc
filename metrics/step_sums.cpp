#include "metrics/step_sums.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::metrics {

namespace {

constexpr double memory_seconds = 10;

} // namespace

void StepSums::add(const StepRecord& step) {
  loss += step.loss;
  if (step.accuracy)
    correct =
        correct.value_or(0) + std::llround(*step.accuracy * static_cast<double>(step.samples));
  samples += step.samples;
  seconds += step.seconds;
  peak_seconds += step.peak_seconds();
  ++steps;
}

std::optional<double> StepSums::accuracy() const {
  if (!correct || samples == 0)
    return std::nullopt;
  return static_cast<double>(*correct) / static_cast<double>(samples);
}

void RecentSteps::add(const StepRecord& step) {
  const double kept =
      std::isfinite(step.seconds) ? std::exp(-std::max(0.0, step.seconds) / memory_seconds) : 1;
  const auto samples = static_cast<double>(step.samples);
  const auto mix = [kept](double& sum, double value) { sum = kept * sum + value; };
  mix(steps_, 1);
  mix(samples_, samples);
  mix(seconds_, step.seconds);
  mix(peak_seconds_, step.peak_seconds());
  mix(loss_, samples * step.loss);
  if (step.accuracy)
    mix(accuracy_, samples * *step.accuracy);
  classifies_ = step.accuracy.has_value();
}

} // namespace troupe::metrics
