/// The history of a run from its first step, possibly over several processes, in bounded memory.
#pragma once

#include "metrics/records/epoch.hpp"
#include "metrics/records/generated.hpp"
#include "metrics/records/recovery.hpp"
#include "metrics/records/step.hpp"
#include "metrics/report/duration_histogram.hpp"
#include "metrics/report/epoch_history.hpp"
#include "metrics/report/run_progress.hpp"
#include "metrics/report/step_history.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace troupe::metrics {

/// The newest records of a kind.
template <class Record, std::size_t most>
class Latest {
public:
  void add(Record record) {
    records_.push_back(std::move(record));
    if (records_.size() > most)
      records_.erase(records_.begin());
  }
  const std::vector<Record>& records() const { return records_; }

private:
  std::vector<Record> records_;
};

struct RunHistory {
  StepHistory steps;
  DurationHistogram step_seconds;
  EpochHistory epochs;
  Latest<RecoveryRecord, 50> recoveries;
  Latest<GeneratedRecord, 20> generated;
  RunProgress progress;

  /// Returns the index of the first point of `steps` that has changed.
  std::size_t add(const StepRecord& step) {
    step_seconds.add(step.seconds);
    progress.add(step);
    return steps.add(step);
  }
  void add(const EpochRecord& epoch) {
    progress.add(epoch);
    epochs.add(epoch);
  }
  void add(const RecoveryRecord& recovery) { recoveries.add(recovery); }
  void add(const GeneratedRecord& text) { generated.add(text); }
};

} // namespace troupe::metrics
