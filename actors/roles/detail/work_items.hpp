/// COORDINATOR's bookkeeping of asynchronous training: the ranks that wait for a slice, the
/// measurements of computed slices, and the ranks' results and votes for each step.
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

  /// Notes that the rank is free, or will be soon.
  void want(std::int32_t rank) { waiting_.push_back(rank); }
  /// Assigns slices of steps below the limit to waiting ranks, in the order of their requests,
  /// unless a rank should keep waiting.
  std::vector<Assigned> assign(std::int64_t limit, Clock::time_point now);
  /// When to call assign() again if nothing happens before.
  std::optional<Clock::time_point> again(Clock::time_point now) const;
  /// Number of steps of which a slice was assigned.
  std::int64_t begun() const { return begun_; }
  /// Whether the rank is computing this slice.
  bool has(std::int32_t rank, const data::WorkItem& item) const {
    return assigner_.has(rank, item);
  }
  /// Records a computed slice and its measurements. Precondition: has().
  void complete(std::int32_t rank, const data::WorkItem& item, const WorkerStep& measured,
                Clock::time_point now);

  /// Adds a rank's results of a step. Returns those of all ranks after the last one.
  std::optional<StepFound> found(const StepFound& by_rank);
  /// Counts a rank's vote to apply the step.
  void vote(std::int64_t step) { ++votes_[step]; }
  /// Returns the step that all ranks are to apply now, once.
  std::optional<std::int64_t> next_applied();

  /// Returns the measurements of a rank's slices of a step.
  WorkerStep measured(std::int32_t rank, std::int64_t step);
  /// Returns the longest time in seconds that a rank held one of the step's slices, and forgets the
  /// step.
  double longest_item(std::int64_t step);

private:
  struct Step {
    std::map<std::int32_t, WorkerStep> measured; ///< by rank
    double longest = 0;                          ///< seconds that a rank held one of its slices
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
