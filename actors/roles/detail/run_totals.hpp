/// The totals of a run over the earlier generations of this process. Each COORDINATOR passes them
/// to the next.
#pragma once

#include "core/config/checkpoint.hpp"
#include "metrics/records/run.hpp"
#include "metrics/report/earlier_run.hpp"
#include "metrics/step_sums.hpp"
#include "training/test_results.hpp"

#include <optional>

namespace troupe::actors {

/// Tracks the best evaluation of a run (checkpoint.best).
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

struct RunTotals {
  metrics::StepSums steps = {};
  std::int64_t committed = 0;            ///< steps of the whole run
  double seconds = 0;                    ///< since the first step
  double collective = 0, overlapped = 0; ///< seconds
  metrics::RunSummary summary = {};      ///< with the counts of its checkpoints
  BestSoFar best = BestSoFar{};
  std::int64_t sampled = -1;    ///< number of steps after which the last text sample was written
  metrics::EarlierRun run = {}; ///< the run so far, for the next generation
};

} // namespace troupe::actors
