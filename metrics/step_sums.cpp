#include "step_sums.hpp"

#include <cmath>

namespace troupe::metrics {

void StepSums::add(const StepRecord& step) {
  loss += step.loss;
  if (step.accuracy)
    correct =
        correct.value_or(0) + std::llround(*step.accuracy * static_cast<double>(step.samples));
  samples += step.samples;
  seconds += step.seconds;
  ++steps;
}

std::optional<double> StepSums::accuracy() const {
  if (!correct || samples == 0)
    return std::nullopt;
  return static_cast<double>(*correct) / static_cast<double>(samples);
}

} // namespace troupe::metrics
