/// Tracks the best evaluation of a run (checkpoint.best).
#pragma once

#include "training/test_results.hpp"

#include <optional>
#include <string>
#include <utility>

namespace troupe::actors {

class BestSoFar {
public:
  /// `metric`: none, accuracy, or loss. `value`: the metric of the best checkpoint so far, for a
  /// resumed run.
  explicit BestSoFar(std::string metric = "none", std::optional<double> value = std::nullopt)
      : metric_{std::move(metric)}, value_{value} {}

  /// Returns whether these results are better than all before. If so, the next ones are compared
  /// with them.
  bool beat(const training::TestResults& results) {
    const bool higher = metric_ == "accuracy";
    const auto& now = higher ? results.accuracy : results.loss;
    if (metric_ == "none" || !now)
      return false;
    if (value_ && !(higher ? *now > *value_ : *now < *value_))
      return false;
    value_ = now;
    return true;
  }

private:
  std::string metric_;
  std::optional<double> value_;
};

} // namespace troupe::actors
