/// Assigns slices one by one to workers that are free (asynchronous training). A value type without
/// actors or clocks: times are seconds of any clock.
#pragma once

#include "data/slice_assignment.hpp"
#include "data/throughput_estimator.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace troupe::data {

/// Slices of a step are assigned in order, up to a limit. If the limit stays s + 1 steps ahead of
/// the applied steps, each slice reads parameters that lack at most s of the steps before its own
/// (stale synchronous parallel: Ho et al., "More Effective Distributed ML via a Stale Synchronous
/// Parallel Parameter Server", NeurIPS 2013).
///
/// Two rules keep the number of stale slices (whose parameters may lack steps) low:
///
/// - A worker gets a slice of a later step if it would finish a slice of this step later than the
///   others finish the rest of the step, by more than its wait tolerance. So a slow worker does not
///   delay a step, and the others do not compute many slices with parameters that lack this step.
/// - A worker waits instead of starting a slice that lacks a step, if all slices of the first
///   unapplied step are already assigned and will finish within the worker's wait tolerance.
///
/// A slice is assigned only when a worker is free. So a slow worker delays the others only if its
/// one slice takes longer than all work that the others may do ahead.
class WorkItems {
public:
  /// `wait_tolerance`: fraction of the time that a worker takes for a slice. Precondition: the
  /// assignment is on demand.
  WorkItems(const SliceAssignment& slice_assignment, std::int64_t first_step,
            double wait_tolerance = 0)
      : slices_{slice_assignment.slices()}, wait_tolerance_{wait_tolerance}, limit_{first_step},
        begun_{first_step}, applied_{first_step}, throughput_{slice_assignment.world_size()} {}

  /// Allows slices of steps below `limit` to be assigned. The limit never decreases.
  void grant(std::int64_t limit) { limit_ = limit; }
  /// Notes that the worker is free, or will be soon.
  void want(int worker) { waiting_.push_back(worker); }
  /// Assigns slices to waiting workers in the order of their requests, unless a worker should keep
  /// waiting.
  std::vector<WorkItem> assign(double now);
  /// Returns when to call assign() again if nothing happens before: the next end of a wait.
  std::optional<double> again(double now) const;

  /// Whether the worker is computing this slice. False for a worker that does not exist.
  bool has(const WorkItem& item) const { return throughput_.has(item); }
  /// Records a computed slice. Precondition: has(item).
  void complete(const WorkItem& item, double now);
  /// Whether all slices of the first unapplied step are computed.
  bool is_complete() const { return !steps_.empty() && steps_.front().complete == slices_; }
  /// Marks the first unapplied step as applied. Precondition: is_complete().
  void apply();

  /// Number of steps of which a slice was assigned.
  std::int64_t begun() const { return begun_; }
  /// Number of applied steps.
  std::int64_t applied() const { return applied_; }
  /// Returns the longest time in seconds for which a slice of the step was assigned, and forgets
  /// it.
  double take_longest(std::int64_t step);

private:
  struct Step {
    int assigned = 0, complete = 0; ///< slices
  };
  std::size_t index_of(std::int64_t step) const {
    return static_cast<std::size_t>(step - applied_);
  }
  int left(std::int64_t step) const;
  std::optional<WorkItem> next(int worker, double now);
  WorkItem begin(std::int64_t step, int worker, double now);
  std::optional<std::int64_t> step_for(int worker, double now) const;
  bool is_late(int worker, int slices, double now) const;
  bool waits(int worker, std::int64_t step, double now);

  int slices_; ///< of a step
  double wait_tolerance_;
  std::int64_t limit_, begun_, applied_;   ///< steps
  std::deque<Step> steps_;                 ///< from applied_ to the last one with an assigned slice
  std::deque<int> waiting_;                ///< workers, in the order of their requests
  std::map<int, double> wait_ends_;        ///< by worker
  std::map<std::int64_t, double> longest_; ///< by step: seconds for which a slice was assigned
  ThroughputEstimator throughput_;
};

} // namespace troupe::data
