/// The state of a resumed run before its first step.
#pragma once

#include "metrics/report/run_history.hpp"
#include "metrics/step_sums.hpp"

#include <cstdint>
#include <optional>

namespace troupe::metrics {

struct EarlierRun {
  double loss = 0;                                     ///< of the last step
  std::optional<double> test_loss = {}, accuracy = {}; ///< of the last evaluation
  StepSums epoch = {};                                 ///< of the unfinished epoch
};

/// Collects the records of the steps before the run's first step from the files of its folder.
class Recollection {
public:
  explicit Recollection(const RunInfo& run);

  /// Returns false and takes nothing if the record is not before the first step, or is out of
  /// order.
  bool add(const StepRecord& step);
  bool add(const EpochRecord& epoch);
  bool add(const GeneratedRecord& sample);
  /// Takes all recoveries: they stay valid when steps are repeated.
  bool add(const RecoveryRecord& recovery) {
    history_.add(recovery);
    return true;
  }

  const EarlierRun& run() const { return run_; }
  const RunHistory& history() const { return history_; }
  /// Steps that are missing in the files: lost in a power failure or with the leader of the job.
  std::int64_t missing_steps() const { return first_step_ - steps_; }

private:
  std::int64_t first_step_, steps_per_epoch_, epochs_;
  std::int64_t steps_ = 0, last_step_ = -1, last_epoch_ = -1, last_sample_ = -1;
  EarlierRun run_;
  RunHistory history_;
};

} // namespace troupe::metrics
