/// Predicts a shard's parameters after its next steps, before all of their gradients have arrived.
#pragma once

#include "training/reducer/reducer_setup.hpp"
#include "training/strategies/async/step_sum.hpp"

#include <memory>
#include <vector>

namespace troupe::training {

/// Runs optimizer steps on copies of the shard and its state. The gradient of each step is the mean
/// of those that have arrived, by bucket; if none has, it is zero, and only momentum changes the
/// parameters. A reader whose slice would use stale parameters reads these. They differ from the
/// later parameters by the gradients that have not arrived yet. (SpecTrain predicts by momentum
/// only: Chen et al., "Efficient and Robust Parallel DNN Training through Model Parallelism on
/// Multi-GPU Platform", 2018.) Uses the owner's stream.
class WeightPrediction {
public:
  /// Errors: out_of_memory.
  static Result<WeightPrediction> create(const GradientReducerSetup& setup);

  /// Discards all predictions.
  void forget() { predicted_.clear(); }
  /// Number of predicted steps, after those that are applied or in progress.
  std::int64_t steps() const { return std::ssize(predicted_); }
  /// Enqueues the prediction of one more step. Error: out_of_memory.
  Status add(std::int64_t step, StepSum& sum);
  /// Returns the parameters after `steps` predicted steps, in memory that the host can read.
  /// Precondition: 0 < steps <= steps().
  const BufferPtr& parameters(std::int64_t steps) const {
    return predicted_[static_cast<std::size_t>(steps - 1)];
  }

private:
  explicit WeightPrediction(const GradientReducerSetup& setup) : setup_{setup} {}
  void begin();
  void apply(const Bucket& bucket, const float* sum, const OptimizerArguments& taken);
  ModelState& state() const { return *setup_.rank_state->state; }
  Stream& stream() const { return *setup_.rank_state->communication; }

  GradientReducerSetup setup_;
  BufferPtr parameters_;         ///< a copy of the rank's shard, as FlatBuffers::owned_parameters
  std::vector<BufferPtr> slots_; ///< and of its optimizer's state
  std::vector<BufferPtr> predicted_; ///< by number of steps
};

} // namespace troupe::training
