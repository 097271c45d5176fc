/// What COORDINATOR knows of slices that are dealt to whoever comes free: who waits for one, what
/// those have measured who had one, and what ranks say of a step.
#pragma once

#include "actors/messages.hpp"
#include "data/slice_assigner.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace troupe::actors {

class WorkItems {
public:
  using Clock = std::chrono::steady_clock;
  struct Assigned {
    std::int32_t rank;
    data::WorkItem item;
  };

  explicit WorkItems(const data::SliceAssignerOptions& options)
      : assigner_{options}, ranks_{options.workers}, begun_{options.first_step} {}

  /// The rank is free, or will soon be.
  void want(std::int32_t rank) { waiting_.push_back(rank); }
  /// Slices of steps below the limit to those that wait and are not to wait on, in the order in
  /// which they came.
  std::vector<Assigned> deal(std::int64_t limit, Clock::time_point now);
  /// When to deal again, if nothing happens before.
  std::optional<Clock::time_point> again(Clock::time_point now) const;
  /// Steps of which a slice was dealt.
  std::int64_t begun() const { return begun_; }
  /// Whether the rank computes this slice now.
  bool has(std::int32_t rank, const data::WorkItem& item) const {
    return assigner_.has(rank, item);
  }
  /// A slice is computed, and was measured. Precondition: has().
  void come(std::int32_t rank, const data::WorkItem& item, const WorkerStep& measured,
            Clock::time_point now);

  /// What a rank has found in a step; with the last, what was found in all.
  std::optional<StepFound> found(const StepFound& by_rank);
  /// A rank can apply the step, whatever happens.
  void vote(std::int64_t step) { ++votes_[step]; }
  /// The step that all ranks are to apply now; it is not said again.
  std::optional<std::int64_t> next_applied();

  /// What a rank measured of its slices of a step.
  WorkerStep measured(std::int32_t rank, std::int64_t step);
  /// The longest that one of its slices was with a rank, in seconds; the step is forgotten.
  double longest_item(std::int64_t step);

private:
  struct Step {
    std::map<std::int32_t, WorkerStep> measured; ///< by rank
    double longest = 0;                          ///< that a rank had one of its slices, in seconds
  };

  data::SliceAssigner assigner_;
  std::int32_t ranks_;
  std::int64_t begun_;
  std::deque<std::int32_t> waiting_;
  std::map<std::int64_t, Step> steps_;
  std::map<std::int64_t, std::vector<StepFound>> found_;
  std::map<std::int64_t, std::int32_t> votes_;
};

} // namespace troupe::actors
