/// Chooses the slice that a free worker computes next. A value type without actors or clocks.
#pragma once

#include "data/throughput_estimator.hpp"
#include "data/work_tracker.hpp"

#include <map>
#include <optional>

namespace troupe::data {

struct SliceAssignerOptions {
  int slices = 1; ///< slices in a step
  int workers = 1;
  std::int64_t first_step = 0;
  double wait_tolerance = 0; ///< fraction of the time that a worker takes for a slice
};

/// Assigns slices step by step to workers that are free or will be free soon. Two rules keep the
/// number of stale slices (whose parameters may lack steps) low:
///
/// - A worker gets a slice of a later step if it would finish a slice of this step later than the
///   others finish the rest of the step, by more than its wait tolerance. So a slow worker does not
///   delay a step, and the others do not compute many slices with parameters that lack this step.
/// - A worker waits instead of starting a slice that lacks a step, if all slices of the first
///   unapplied step are already assigned and will finish within the worker's wait tolerance.
///
/// A slice is assigned only when a worker is free. So a slow worker delays the others only if its
/// one slice takes longer than all work that the others may do ahead.
class SliceAssigner {
public:
  explicit SliceAssigner(const SliceAssignerOptions& options);

  /// As WorkTracker::grant.
  void grant(std::int64_t limit) { tracker_.grant(limit); }
  bool is_complete() const { return tracker_.is_complete(); }
  void apply() { tracker_.apply(); }
  std::int64_t applied() const { return tracker_.applied(); }

  /// Returns the worker's next slice; nothing if none is available for it. `now` is in seconds of
  /// any clock.
  std::optional<WorkItem> assign(int worker, double now);
  /// Returns whether the worker is computing the slice. False for a worker that does not exist.
  bool has(int worker, const WorkItem& item) const { return throughput_.has(worker, item); }
  /// Records that the worker has computed the slice. Returns the seconds since its assignment.
  /// Precondition: the slice is assigned to the worker.
  double complete(int worker, const WorkItem& item, double now);
  /// Returns the next time when the wait of a worker without a slice ends.
  std::optional<double> again(double now) const;

private:
  std::optional<std::int64_t> step_for(int worker, double now) const;
  bool is_late(int worker, int slices, double now) const;
  bool waits(int worker, std::int64_t step, double now);

  double wait_tolerance_;
  WorkTracker tracker_;
  ThroughputEstimator throughput_;
  std::map<int, double> waiting_; ///< by worker: end of its wait
};

} // namespace troupe::data
