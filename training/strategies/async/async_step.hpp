/// The end of an asynchronous step on the owner of a shard. Between its stages, owners exchange by
/// message the results that a synchronous step computes with collectives.
#pragma once

#include "training/reducer/shard_optimizer.hpp"

#include <cstdint>

namespace troupe::training {

/// All calls enqueue. Arguments must live until the stream has passed the call.
class AsyncStep {
public:
  explicit AsyncStep(GradientReducerSetup setup);

  /// Begins a step. The other calls are about the step that began last.
  void begin(std::int64_t step) { plan_ = setup_.step_plan(step); }
  /// Whether the step has results that depend on all gradients.
  bool finds() const { return state().loss_scale() || plan_.measures_norm; }
  /// Writes the results of this rank's shard to `found`. Precondition: the shard's gradients are
  /// the sums over all slices.
  void find(StepResults* found) const;
  /// Takes the results of all ranks; null if the step has none. From then on this rank can apply
  /// the step without others.
  void prepare(const StepResults* of_all) const;
  void apply(StepResults* found) const;

private:
  Device& device() const { return setup_.rank_state->device(); }
  Stream& stream() const { return *setup_.rank_state->communication; }
  ModelState& state() const { return *setup_.rank_state->state; }
  OptimizerArguments arguments() const {
    return setup_.arguments(plan_.step, setup_.slice_assignment.slices());
  }

  GradientReducerSetup setup_;
  ShardOptimizer optimizer_;
  StepPlan plan_ = {};
};

} // namespace troupe::training
