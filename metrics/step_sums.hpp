/// Totals over steps.
#pragma once

#include "metrics/step_record.hpp"

#include <cstdint>
#include <optional>

namespace troupe::metrics {

struct StepSums {
  double loss = 0; ///< of the steps' means
  std::int64_t samples = 0, steps = 0;
  std::optional<std::int64_t> correct = {}; ///< samples that were classified right
  double seconds = 0, peak_seconds = 0;     ///< nan where nobody knows the devices' peak

  void add(const StepRecord& step);
  /// Empty where nothing can be classified.
  std::optional<double> accuracy() const;
  /// Empty where nobody knows.
  std::optional<double> mfu() const;
};

} // namespace troupe::metrics
