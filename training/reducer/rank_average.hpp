/// The mean of the states of ranks that have trained apart.
#pragma once

#include "data/slice_assignment.hpp"
#include "training/reducer/timed_collectives.hpp"
#include "training/step_results.hpp"

#include <cstddef>
#include <string_view>

namespace troupe::training {

/// Enqueues the averaging of all ranks' states, each weighted by its slices. Used within one call:
/// the arguments of the constructor must outlive it.
class RankAverage {
public:
  RankAverage(const RankState& rank_state, const data::SliceAssignment& slice_assignment,
              const TimedCollectives& collectives, StepWork& done)
      : rank_state_{rank_state}, slice_assignment_{slice_assignment},
        collectives_{collectives}, done_{done} {}

  /// Averages parameters, what `optimizer` says of its state, and the rest. Writes to `found` how
  /// far apart the ranks were, unless it is null.
  void average_all(OptimizerAtRound optimizer, StepResults* found) const;
  /// Averages batch norm statistics, and takes rank 0's loss scale.
  void average_rest() const;

private:
  void average(float* values, std::size_t elements, std::string_view what) const;
  void average_optimizer(OptimizerAtRound how) const;
  void add_squared_parameters(double weight) const;
  /// This rank's number of slices in a step.
  int slices() const { return slice_assignment_.slices_of(rank_state_.rank); }
  Device& device() const { return rank_state_.device(); }
  Stream& stream() const { return *rank_state_.communication; }
  const ModelState& state() const { return *rank_state_.state; }

  const RankState& rank_state_;
  const data::SliceAssignment& slice_assignment_;
  const TimedCollectives& collectives_;
  StepWork& done_;
};

} // namespace troupe::training
