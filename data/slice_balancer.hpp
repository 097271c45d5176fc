/// Decides when the slices of a synchronous job are assigned to its ranks in another way, and how
/// (data.balance, data.replay_assignment).
#pragma once

#include "data/slice_assignment.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe::data {

class SliceBalancer {
public:
  /// Keeps the assignment.
  explicit SliceBalancer(SliceAssignment slice_assignment = {});
  /// Assigns by the measured speed of the ranks: at least `least` slices to each, 0 or 1.
  /// `first_step`: the first step that is measured.
  static SliceBalancer by_speed(SliceAssignment slice_assignment, std::int64_t first_step,
                                int least = 0);
  /// Assigns as recorded, if that was for as many ranks; keeps the assignment before the first
  /// recorded one. `recorded` is in the order of first steps.
  static SliceBalancer replay(SliceAssignment slice_assignment,
                              std::vector<SliceAssignment> recorded);

  /// Adds the time that a rank's step took in forward and backward.
  void add(int rank, std::chrono::nanoseconds busy);
  /// Returns the step that may not be exceeded before next() is called; none: next() may be called
  /// at any time.
  std::optional<std::int64_t> next_look(std::int64_t committed) const;
  /// Returns the assignment from this step on, if it changes. Precondition: no step is in flight.
  std::optional<SliceAssignment> next(std::int64_t step);
  /// Whether the assignment can ever change.
  bool reassigns() const { return next_look_ || !recorded_.empty(); }
  const SliceAssignment& slice_assignment() const { return slice_assignment_; }

private:
  // Enough steps for a mean. A worker's speed may change during a run.
  static constexpr std::int64_t first_look = 8, look_every = 64;
  /// Fraction of the slowest rank's time. Smaller gains are not worth the pause.
  static constexpr double least_gain = 0.05;
  struct Measured {
    std::chrono::nanoseconds busy{};
    std::int64_t slices = 0;
  };

  std::size_t ranks() const { return static_cast<std::size_t>(slice_assignment_.world_size()); }
  std::optional<std::vector<int>> next_counts(std::int64_t step);
  std::optional<std::vector<int>> recorded_at(std::int64_t step) const;
  std::optional<std::vector<int>> faster();
  bool measure();

  SliceAssignment slice_assignment_;
  std::vector<SliceAssignment> recorded_;
  std::optional<std::int64_t> next_look_; ///< if slices are assigned by speed
  int least_ = 0;                         ///< slices per rank
  // By rank.
  std::vector<Measured> measured_; ///< since the last change
  std::vector<double> seconds_;    ///< per slice, in the last step with one
};

/// Returns the number of slices for each rank that minimizes the makespan, if rank r takes
/// seconds[r] for a slice. Greedy: each slice goes to the rank that would finish it first. The
/// first slice goes to rank 0, because its running statistics are the job's. Each rank gets at
/// least `least` slices, 0 or 1. Precondition: seconds are above 0, and there are enough slices.
std::vector<int> balanced_by_speed(int slices, std::span<const double> seconds, int least = 0);

} // namespace troupe::data
