/// Totals over steps.
#pragma once

#include "metrics/records/step.hpp"

#include <cstdint>
#include <optional>

namespace troupe::metrics {

struct StepSums {
  double loss = 0; ///< sum of the steps' mean losses
  std::int64_t samples = 0, steps = 0;
  std::optional<std::int64_t> correct = {}; ///< correctly classified samples
  double seconds = 0, peak_seconds = 0;     ///< nan if the devices' peak is unknown

  void add(const StepRecord& step);
  /// Empty if there are no classes.
  std::optional<double> accuracy() const;
  /// Empty if unknown.
  std::optional<double> mfu() const;
};

} // namespace troupe::metrics
