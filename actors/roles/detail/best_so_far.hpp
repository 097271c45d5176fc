/// Tracks the best evaluation of a run (checkpoint.best).
#pragma once

#include "core/config/checkpoint.hpp"
#include "training/test_results.hpp"

#include <optional>

namespace troupe::actors {

class BestSoFar {
public:
  /// `value`: the metric of the best checkpoint so far, for a resumed run.
  explicit BestSoFar(BestMetric metric = BestMetric::none,
                     std::optional<double> value = std::nullopt)
      : metric_{metric}, value_{value} {}

  /// Returns whether these results are better than all before. If so, the next ones are compared
  /// with them.
  bool beat(const training::TestResults& results) {
    const bool higher = metric_ == BestMetric::accuracy;
    const auto& now = higher ? results.accuracy : results.loss;
    if (metric_ == BestMetric::none || !now)
      return false;
    if (value_ && !(higher ? *now > *value_ : *now < *value_))
      return false;
    value_ = now;
    return true;
  }

private:
  BestMetric metric_;
  std::optional<double> value_;
};

} // namespace troupe::actors
