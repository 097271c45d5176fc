#include "metrics/recent_steps.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::metrics {

namespace {

constexpr double memory_seconds = 10;

} // namespace

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
