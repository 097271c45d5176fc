/// The config section parallel.async: training in which workers do not wait for each other.
#pragma once

#include "core/choice.hpp"

#include <cstdint>

namespace troupe {

/// Treatment of a stale gradient, whose parameters lacked steps. whole: full weight. divided:
/// weight 1 / staleness (Zhang et al., "Staleness-aware Async-SGD for Distributed Deep Learning",
/// IJCAI 2016). compensated: delay compensation (training/strategies/async/step_sum.hpp).
enum class StaleGradients : std::uint8_t { whole, divided, compensated };

template <>
inline constexpr auto choice_words<StaleGradients> = word_list("whole", "divided", "compensated");

struct AsyncConfig {
  std::int64_t staleness = 3; ///< most steps that a slice's parameters may lack
  StaleGradients policy = StaleGradients::whole;
  double compensation = 0.04;  ///< compensated: lambda
  double wait_tolerance = 0.3; ///< longest wait for a step, as a fraction of a slice's time
  bool prediction = false;     ///< predict the parameters after the steps in flight

  bool operator==(const AsyncConfig&) const = default;
};

} // namespace troupe
