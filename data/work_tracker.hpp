/// Tracks which slices are assigned when each goes to the next free worker (asynchronous training).
/// A value type without actors or clocks.
#pragma once

#include <cstdint>
#include <deque>

namespace troupe::data {

/// A slice of a step's global batch, assigned to one worker.
struct WorkItem {
  std::int64_t step = 0;
  int slice = 0;
  bool operator==(const WorkItem&) const = default;
};

/// Slices of a step are assigned in order, up to a limit. If the limit stays s + 1 steps ahead of
/// the applied steps, each slice reads parameters that lack at most s of the steps before its own
/// (stale synchronous parallel: Ho et al., "More Effective Distributed ML via a Stale Synchronous
/// Parallel Parameter Server", NeurIPS 2013).
class WorkTracker {
public:
  WorkTracker(int slices, std::int64_t first_step)
      : slices_{slices}, limit_{first_step}, applied_{first_step} {}

  /// Allows slices of steps below `limit` to be assigned. The limit never decreases.
  void grant(std::int64_t limit) { limit_ = limit; }
  std::int64_t limit() const { return limit_; }
  /// Returns the number of unassigned slices of a step. Precondition: the step is not applied.
  int left(std::int64_t step) const;
  /// Assigns the next slice of a step. Preconditions: the step is below the limit and has an
  /// unassigned slice.
  WorkItem assign(std::int64_t step);
  /// Records that an assigned slice is computed. Returns whether it was the last of its step.
  /// Precondition: the slice is assigned and was not recorded before.
  bool complete(const WorkItem& item);
  /// Returns whether all slices of the first unapplied step are computed.
  bool is_complete() const { return !steps_.empty() && steps_.front().complete == slices_; }
  /// Marks the first unapplied step as applied. Precondition: is_complete().
  void apply();

  std::int64_t applied() const { return applied_; }

private:
  struct Step {
    int assigned = 0, complete = 0; ///< slices
  };
  std::size_t place_of(std::int64_t step) const {
    return static_cast<std::size_t>(step - applied_);
  }

  int slices_;
  std::int64_t limit_;
  std::int64_t applied_;   ///< steps
  std::deque<Step> steps_; ///< from applied_ up to the last step with an assigned slice
};

} // namespace troupe::data
