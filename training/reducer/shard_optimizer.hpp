/// The optimizer of a rank's shard, and what it needs of all gradients together: whether they are
/// finite, and their norm. Calls enqueue on the communication stream, unless they block.
#pragma once

#include "training/reducer/reducer_setup.hpp"
#include "training/step_results.hpp"

#include <vector>

namespace troupe::training {

class ShardOptimizer {
public:
  explicit ShardOptimizer(const GradientReducerSetup& setup)
      : rank_state_{setup.rank_state}, clip_norm_{setup.clip_norm}, loss_scale_{setup.loss_scale} {}

  void check_finite() const;
  /// Sets the scratch's squared norm to that of this shard's gradients.
  void square_gradients(const OptimizerArguments& taken) const;
  /// Computes the clipping factor from the scratch's squared norm, if gradients are clipped.
  void clip() const;
  void apply(const std::vector<OptimizerChunk>& chunks, const OptimizerArguments& taken) const;
  /// Applies the elements that are not offloaded, updates the loss scale, and counts the step.
  void apply_step(const OptimizerArguments& taken, StepResults* found) const;

  // Asynchronous steps. Between these calls, ranks exchange by message the results that a
  // synchronous step computes with collectives. Then `apply_step` follows. Arguments must live
  // until the stream has passed these calls.

  /// Whether a step has results that depend on all gradients.
  bool finds(const StepPlan& planned) const {
    return state().loss_scale() || planned.measures_norm;
  }
  /// Writes results of this rank's shard to `found`, if the step has any.
  void find(const StepPlan& planned, const OptimizerArguments& taken, StepResults* found) const;
  /// Takes the results of all ranks, null if the step has none. From then on this rank can apply
  /// the step without others.
  void prepare(const StepResults* of_all) const;

  /// Applies a step that this rank has voted for (ModelState::prepares) and other ranks have
  /// applied. Uses new streams, because those of the generation have failed. Blocks.
  Status roll_forward(const OptimizerArguments& taken) const;

private:
  Status roll_host_forward(const OptimizerArguments& taken, Stream& stream) const;
  Device& device() const { return rank_state_->device(); }
  Stream& stream() const { return *rank_state_->communication; }
  ModelState& state() const { return *rank_state_->state; }
  const StateLayout& layout() const { return state().layout(); }
  const OptimizerPart& part() const { return state().buffers().part(); }

  std::shared_ptr<RankState> rank_state_;
  std::optional<double> clip_norm_;
  std::optional<LossScaleOptions> loss_scale_;
};

} // namespace troupe::training
