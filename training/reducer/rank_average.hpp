/// The mean of the states of ranks that have trained apart.
#pragma once

#include "training/reducer/reducer_setup.hpp"
#include "training/reducer/timed_collectives.hpp"
#include "training/step_results.hpp"

namespace troupe::training {

/// Enqueues the averaging of all ranks' states, each weighted by its slices. Used within one call.
struct RankAverage {
  const GradientReducerSetup& setup;
  const TimedCollectives& collectives;
  StepWork& work;

  /// Averages parameters, what `optimizer` says of its state, and the rest. Writes to `found` how
  /// far apart the ranks were, unless it is null.
  void average_all(OptimizerAtRound optimizer, StepResults* found) const;
  /// Averages batch norm statistics, and takes rank 0's loss scale.
  void average_rest() const;
  void average(float* values, std::size_t elements, std::string_view what) const;
  void add_squared_parameters(double weight) const;
  /// This rank's number of slices in a step.
  int slices() const { return setup.slice_assignment.slices_of(setup.rank_state->rank); }
  Device& device() const { return setup.rank_state->device(); }
  Stream& stream() const { return *setup.rank_state->communication; }
  const ModelState& state() const { return *setup.rank_state->state; }
};

} // namespace troupe::training
