/// The course of a run from its first step on, also over several processes, in bounded memory.
#pragma once

#include "metrics/report/duration_histogram.hpp"
#include "metrics/report/epoch_course.hpp"
#include "metrics/report/latest.hpp"
#include "metrics/report/run_progress.hpp"
#include "metrics/report/step_course.hpp"

namespace troupe::metrics {

/// Changes of the membership.
using RecoveryCourse = Latest<RecoveryRecord, 50>;
using GeneratedCourse = Latest<GeneratedRecord, 20>;

struct RunCourse {
  StepCourse steps;
  DurationHistogram step_seconds;
  EpochCourse epochs;
  RecoveryCourse recoveries;
  GeneratedCourse generated;
  RunProgress progress;

  /// Gives the index of the first point of `steps` that is not as it was.
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
