#include "metrics/step_sums.hpp"

#include "metrics/known_ratio.hpp"

#include <cmath>

namespace troupe::metrics {

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

std::optional<double> StepSums::mfu() const {
  return known_ratio(peak_seconds, seconds);
}

} // namespace troupe::metrics
