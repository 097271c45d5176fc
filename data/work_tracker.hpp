/// Which slices are dealt, where each goes to whoever comes free: the book of asynchronous
/// training. A class of values, without actors or clocks.
#pragma once

#include <cstdint>
#include <deque>

namespace troupe::data {

/// A slice of a step's global batch that somebody computes.
struct WorkItem {
  std::int64_t step = 0;
  int slice = 0;
  bool operator==(const WorkItem&) const = default;
};

/// Slices of a step are dealt in order, up to a limit. Where that stays s + 1 steps ahead of those
/// that are applied, each slice reads parameters that lack at most s of the steps before its own
/// (stale synchronous parallel: Ho et al., "More Effective Distributed ML via a Stale Synchronous
/// Parallel Parameter Server", NeurIPS 2013).
class WorkTracker {
public:
  WorkTracker(int slices, std::int64_t first_step)
      : slices_{slices}, limit_{first_step}, applied_{first_step} {}

  /// Slices of steps below it may be dealt; it never falls.
  void grant(std::int64_t limit) { limit_ = limit; }
  std::int64_t limit() const { return limit_; }
  /// Slices of a step that nobody was dealt. Precondition: it is not applied.
  int left(std::int64_t step) const;
  /// The next slice of a step. Preconditions: the step is below the limit, and has one left.
  WorkItem deal(std::int64_t step);
  /// A slice that was dealt is computed; whether it was the last of its step. Precondition: it was
  /// dealt and has not come.
  bool come(const WorkItem& item);
  /// Whether all slices of the first step that is not applied have come.
  bool is_complete() const { return !steps_.empty() && steps_.front().come == slices_; }
  /// The first step that was not applied is. Precondition: is_complete().
  void apply();

  std::int64_t applied() const { return applied_; }

private:
  struct Step {
    int assigned = 0, come = 0; ///< slices
  };
  std::size_t place_of(std::int64_t step) const {
    return static_cast<std::size_t>(step - applied_);
  }

  int slices_;
  std::int64_t limit_;
  std::int64_t applied_;   ///< steps
  std::deque<Step> steps_; ///< from applied_ on, as far as some slice was dealt
};

} // namespace troupe::data
