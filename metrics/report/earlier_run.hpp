/// What a run that goes on was before.
#pragma once

#include "metrics/report/run_history.hpp"
#include "metrics/step_sums.hpp"

#include <cstdint>
#include <optional>

namespace troupe::metrics {

struct EarlierRun {
  double loss = 0;                                     ///< of the last step
  std::optional<double> test_loss = {}, accuracy = {}; ///< of the last evaluation
  StepSums epoch = {};                                 ///< of the epoch that has not been recorded
};

/// Takes what the files of a run's folder have of the steps before its first one.
class Recollection {
public:
  explicit Recollection(const RunInfo& run);

  /// False: not one of them, and nothing was taken.
  bool add(const StepRecord& step);
  bool add(const EpochRecord& epoch);
  bool add(const GeneratedRecord& sample);
  /// All of them: what was before is not undone where steps are made again.
  bool add(const RecoveryRecord& recovery) {
    history_.add(recovery);
    return true;
  }

  const EarlierRun& run() const { return run_; }
  const RunHistory& history() const { return history_; }
  /// Steps that the files do not have: lost with the machine's power, or with who led the job.
  std::int64_t missing_steps() const { return first_step_ - steps_; }

private:
  std::int64_t first_step_, steps_per_epoch_, epochs_;
  std::int64_t steps_ = 0, last_step_ = -1, last_epoch_ = -1, last_sample_ = -1;
  EarlierRun run_;
  RunHistory history_;
};

} // namespace troupe::metrics
