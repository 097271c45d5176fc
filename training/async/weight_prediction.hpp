/// What a shard's next steps will come to, before all of their gradients are there.
#pragma once

#include "training/async/step_sum.hpp"
#include "training/reducer/reducer.hpp"

#include <memory>
#include <vector>

namespace troupe::training {

/// Steps that the optimizer makes on copies of the shard and its state. For the gradient each takes
/// the mean of those that have come, by bucket; where none has, it is zero, and what the step
/// changes is momentum's alone. A reader whose slice would lack steps reads these parameters: they
/// differ from what the steps will come to by the gradients that are still to come. (SpecTrain
/// predicts by momentum alone: Chen et al., "Efficient and Robust Parallel DNN Training through
/// Model Parallelism on Multi-GPU Platform", 2018.) On the owner's stream.
class WeightPrediction {
public:
  /// `exchange`, which runs on the same stream, has to outlive it. Errors: out_of_memory.
  static Result<WeightPrediction> create(std::shared_ptr<RankState> rank_state,
                                         const GradientReducer& reducer);

  /// What was foreseen is so no longer.
  void forget() { predicted_.clear(); }
  /// How many are foreseen, behind those that are applied or being so.
  std::int64_t steps() const { return std::ssize(predicted_); }
  /// Enqueues one more step. Error: out_of_memory.
  Status add(std::int64_t step, StepSum& sum);
  /// What so many steps come to, in memory that the host can read. Precondition: 0 < steps <=
  /// steps().
  const BufferPtr& parameters(std::int64_t steps) const {
    return predicted_[static_cast<std::size_t>(steps - 1)];
  }

private:
  WeightPrediction(std::shared_ptr<RankState> rank_state, const GradientReducer& reducer)
      : rank_state_{std::move(rank_state)}, reducer_{&reducer} {}
  void begin();
  ModelState& state() const { return *rank_state_->state; }
  Stream& stream() const { return *rank_state_->communication; }

  std::shared_ptr<RankState> rank_state_;
  const GradientReducer* reducer_;
  ShardCopy copy_;
  std::vector<BufferPtr> predicted_; ///< by steps
};

} // namespace troupe::training
