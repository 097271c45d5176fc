/// Which slice who comes free is dealt. A class of values, without actors or clocks.
#pragma once

#include "data/throughput_estimator.hpp"
#include "data/work_tracker.hpp"

#include <map>
#include <optional>

namespace troupe::data {

struct SliceAssignerOptions {
  int slices = 1; ///< of a step
  int workers = 1;
  std::int64_t first_step = 0;
  double wait_tolerance = 0; ///< a part of the time that a worker takes for a slice
};

/// Slices are dealt step by step to who is free, and to who will be soon. Two things keep few of
/// them stale, where their parameters may lack steps:
///
/// - A worker that would have a slice done later than all the others what is left of the step, by
///   more than its patience, gets one of a later step: who is slow does not hold back a step, for
///   which others would then compute many slices with parameters that lack it.
/// - If the first step that is not applied needs no more than slices that are being computed, and
///   these will be done within a worker's patience, it waits so long, rather than begin a slice
///   that lacks the step.
///
/// As a slice is dealt when somebody is free, who is slow holds up the others only if his one slice
/// takes longer than they need for all that they may go ahead.
class SliceAssigner {
public:
  explicit SliceAssigner(const SliceAssignerOptions& options);

  /// As Ledger's.
  void grant(std::int64_t limit) { tracker_.grant(limit); }
  bool is_complete() const { return tracker_.is_complete(); }
  void apply() { tracker_.apply(); }
  std::int64_t applied() const { return tracker_.applied(); }

  /// The worker's next slice; nothing while there is none for it. `now` in seconds of any clock.
  std::optional<WorkItem> deal(int worker, double now);
  /// Whether the worker computes the slice now. False for a worker that does not exist.
  bool has(int worker, const WorkItem& item) const { return throughput_.has(worker, item); }
  /// It is computed. Returns for how long it was the worker's. Precondition: the worker was dealt
  /// it.
  double come(int worker, const WorkItem& item, double now);
  /// When next somebody's patience ends that was dealt nothing.
  std::optional<double> again(double now) const;

private:
  std::optional<std::int64_t> step_for(int worker, double now) const;
  bool is_late(int worker, int slices, double now) const;
  bool waits(int worker, std::int64_t step, double now);

  double wait_tolerance_;
  WorkTracker tracker_;
  ThroughputEstimator throughput_;
  std::map<int, double> waiting_; ///< by worker: until when
};

} // namespace troupe::data
