/// When slices are dealt anew, and how (data.dealing, data.recorded_dealing).
#pragma once

#include "data/slice_assignment.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace troupe::actors {

struct SliceBalancerSetup {
  data::SliceAssignment slice_assignment = {}; ///< that the generation begins with
  bool by_speed = false;                       ///< as ranks are measured
  int least = 0;                               ///< slices of a rank
  std::map<std::int64_t, std::vector<int>> recorded =
      {};                    ///< by the first step; not empty: as there
  double wait_tolerance = 0; ///< data/slice_assigner.hpp, where slices go to who comes free
};

class SliceBalancer {
public:
  SliceBalancer(SliceBalancerSetup setup, std::int64_t first_step)
      : setup_{std::move(setup)}, next_look_{first_step + first_look}, measured_(ranks()),
        seconds_(ranks()) {}

  /// What a rank's step took in forward and backward.
  void add(std::int32_t rank, std::chrono::nanoseconds busy);
  /// No step beyond this one is granted before deal() was asked; none: ask when you like.
  std::optional<std::int64_t> next_look(std::int64_t committed) const;
  /// How slices are dealt from this step on, where that is not as before. None is under way.
  std::optional<std::vector<int>> deal(std::int64_t step);
  /// Whether another dealing may ever follow.
  bool reassigns() const { return setup_.by_speed || !setup_.recorded.empty(); }
  const data::SliceAssignment& slice_assignment() const { return setup_.slice_assignment; }

private:
  // Enough for a mean; a worker's speed may change while a run goes on.
  static constexpr std::int64_t first_look = 8, look_every = 64;
  /// Of the slowest rank's time: less is not worth the pause.
  static constexpr double least_gain = 0.05;

  std::size_t ranks() const {
    return static_cast<std::size_t>(setup_.slice_assignment.world_size());
  }
  std::optional<std::vector<int>> recorded_at(std::int64_t step) const;
  /// Who had no slice gets one for a few steps, to be measured again.
  std::optional<std::vector<int>> faster();

  SliceBalancerSetup setup_;
  std::int64_t next_look_;
  struct Measured {
    std::chrono::nanoseconds busy{};
    std::int64_t slices = 0;
  };
  // By rank.
  std::vector<Measured> measured_; ///< since the last deal
  std::vector<double> seconds_;    ///< of a slice, when it last had one
};

} // namespace troupe::actors
