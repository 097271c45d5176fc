/// The optimizer of a rank's shard, and what it needs of all gradients together: whether they are
/// finite, and their norm. Enqueues on the communication stream.
#pragma once

#include "training/reducer/reducer_setup.hpp"
#include "training/step_results.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace troupe::training {

/// A copy of a rank's shard, in the order of FlatBuffers::owned_parameters.
struct ShardCopy {
  BufferPtr parameters = nullptr;
  std::vector<BufferPtr> slots = {}; ///< of the optimizer
};

class ShardOptimizer {
public:
  explicit ShardOptimizer(const GradientReducerSetup& setup);

  /// Looks for values that are not finite. Gradients are already summed over ranks: such a value of
  /// one rank is found by all ranks that hold the sum.
  void check_finite() const;
  /// Sets the scratch's squared norm to that of this shard's gradients.
  void square_gradients(const OptimizerArguments& taken) const;
  /// Computes the clipping factor from the scratch's squared norm, if gradients are clipped.
  void clip() const;
  void apply(const std::vector<OptimizerChunk>& chunks, const OptimizerArguments& taken) const;
  /// Applies the elements that are not offloaded, of this shard and of the replica that this rank
  /// keeps. Then updates the loss scale and ends the step.
  void apply_step(const OptimizerArguments& taken, StepResults* found) const;
  /// Applies a step to a copy of a bucket. `sum`: sum of gradients. Ignores everything that depends
  /// on all gradients together (clipping, loss scale).
  void apply_to(const ShardCopy& copy, const Bucket& bucket, const float* sum,
                const OptimizerArguments& taken) const;

private:
  void end_step(StepResults* found) const;
  Device& device() const { return rank_state_->device(); }
  Stream& stream() const { return *rank_state_->communication; }
  ModelState& state() const { return *rank_state_->state; }
  const OptimizerPart& part() const { return state().buffers().part(); }

  std::shared_ptr<RankState> rank_state_;
  std::optional<double> clip_norm_;
  std::optional<LossScaleOptions> loss_scale_;
};

} // namespace troupe::training
