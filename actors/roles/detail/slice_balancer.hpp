/// Decides when slices are reassigned, and how (data.balance, data.replay_assignment).
#pragma once

#include "data/slice_assignment.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace troupe::actors {

struct SliceBalancerSetup {
  data::SliceAssignment slice_assignment = {}; ///< at the beginning of the generation
  bool by_speed = false;                       ///< assign by the measured speed of the ranks
  int least = 0;                               ///< slices per rank
  std::map<std::int64_t, std::vector<int>> recorded =
      {};                    ///< counts by first step; not empty: replays them
  double wait_tolerance = 0; ///< data/slice_assigner.hpp, in asynchronous training
};

class SliceBalancer {
public:
  SliceBalancer(SliceBalancerSetup setup, std::int64_t first_step)
      : setup_{std::move(setup)}, next_look_{first_step + first_look}, measured_(ranks()),
        seconds_(ranks()) {}

  /// Adds the time that a rank's step took in forward and backward.
  void add(std::int32_t rank, std::chrono::nanoseconds busy);
  /// Returns the step that may not be exceeded before assign() is called; none: assign() may be
  /// called at any time.
  std::optional<std::int64_t> next_look(std::int64_t committed) const;
  /// Returns the slice counts from this step on, if they change. Precondition: no step is in
  /// flight.
  std::optional<std::vector<int>> assign(std::int64_t step);
  /// Whether a reassignment can ever follow.
  bool reassigns() const { return setup_.by_speed || !setup_.recorded.empty(); }
  const data::SliceAssignment& slice_assignment() const { return setup_.slice_assignment; }

private:
  // Enough steps for a mean. A worker's speed may change during a run.
  static constexpr std::int64_t first_look = 8, look_every = 64;
  /// Fraction of the slowest rank's time. Smaller gains are not worth the pause.
  static constexpr double least_gain = 0.05;

  std::size_t ranks() const {
    return static_cast<std::size_t>(setup_.slice_assignment.world_size());
  }
  std::optional<std::vector<int>> recorded_at(std::int64_t step) const;
  /// Returns faster counts. A rank without slices gets one for a few steps, to be measured again.
  std::optional<std::vector<int>> faster();

  SliceBalancerSetup setup_;
  std::int64_t next_look_;
  struct Measured {
    std::chrono::nanoseconds busy{};
    std::int64_t slices = 0;
  };
  // By rank.
  std::vector<Measured> measured_; ///< since the last reassignment
  std::vector<double> seconds_;    ///< per slice, in the last step with one
};

} // namespace troupe::actors
