/// Asynchronous training, on the owner of a shard: enqueues summing gradients as they arrive,
/// applying a step once all of them have arrived, and copying the newest parameters for readers.
/// Sends no messages.
#pragma once

#include "metrics/records/step.hpp"
#include "training/reducer/shard_optimizer.hpp"
#include "training/strategies/async/weight_prediction.hpp"

#include <map>
#include <memory>
#include <optional>

namespace troupe::training {

/// Uses a separate stream (RankState::owner), so that work for other ranks does not queue after
/// this rank's backward.
class ParameterServerShard {
public:
  /// Blocks. Errors: out_of_memory; the stream's.
  static Result<std::shared_ptr<ParameterServerShard>> create(GradientReducerSetup reducer);

  Stream& stream() const { return *setup_.rank_state->communication; }
  /// Number of steps applied, including one in progress.
  Version version() const { return version_; }

  /// Whether these gradients have arrived. Precondition: as add.
  bool has(const Gradients& gradients) const {
    return sum_of(gradients.step).has(gradients.bucket, gradients.slice);
  }
  /// Enqueues: adds gradients to the sum of their step. Precondition: the step is at most
  /// `staleness` after version() (check_message).
  void add(const collectives::MessagePtr& message);
  /// Whether all gradients of the next step have arrived.
  bool is_whole() { return sum_of(version_).is_whole(); }
  /// Enqueues: makes their sum the shard's gradient.
  void take();
  /// Enqueues a copy of the shard's gradient, in memory that the host can read.
  Result<BufferPtr> copy_of_gradients();
  /// Enqueues: stores the gradients of the shard that this rank replicates.
  void keep_replica(const collectives::MessagePtr& message);
  /// As ShardOptimizer's, for the next step; they enqueue.
  bool finds() const { return optimizer_.finds(plan_); }
  void find(StepResults* found) { optimizer_.find(plan_, setup_.arguments(plan_), found); }
  void prepare(const StepResults* of_all) { optimizer_.prepare(of_all); }
  /// Enqueues: applies the next step. Returns which version each gradient was computed with. Error:
  /// out_of_memory.
  Result<std::vector<metrics::SliceRead>> apply(const std::shared_ptr<StepResults>& found);
  /// Publishes the applied version. Precondition: the work enqueued by apply is done.
  void settle();
  /// Loss scale after the published version; 1 if losses are not scaled.
  float scale() const { return scale_; }
  /// The newest version whose parameters may be read.
  Version published() const { return versions_.rbegin()->first; }
  /// Returns the parameters to compute a slice of a step with: the published version or, if that is
  /// stale and prediction is on, a prediction.
  ParameterVersion version_for(Version step) const;
  /// Enqueues if they are predicted. Error: out_of_memory.
  Result<BufferPtr> parameters(const ParameterVersion& at);

private:
  explicit ParameterServerShard(GradientReducerSetup reducer);
  Status allocate();
  Result<BufferPtr> copy(const float* values);
  std::size_t place_of(std::int64_t step) const {
    return static_cast<std::size_t>(step % std::ssize(sums_));
  }
  StepSum& sum_of(std::int64_t step) { return sums_[place_of(step)]; }
  const StepSum& sum_of(std::int64_t step) const { return sums_[place_of(step)]; }
  float factor(const Gradients& of) const;
  Compensation compensation();
  Device& device() const { return setup_.rank_state->device(); }
  ModelState& state() const { return *setup_.rank_state->state; }
  const AsyncConfig& async() const { return state().layout().strategy().async; }

  GradientReducerSetup setup_; ///< its communication stream is the owner's stream
  ShardOptimizer optimizer_;
  StepPlan plan_; ///< of the next step
  Version version_ = 0;
  float scale_ = 1;
  std::shared_ptr<StepResults> applied_; ///< results of the last step
  std::vector<StepSum> sums_;            ///< of the steps in flight, cyclic by step
  std::map<std::int64_t, std::vector<metrics::SliceRead>> counted_; ///< by step
  std::map<Version, BufferPtr> versions_;             ///< those that may still be read
  std::optional<std::pair<Version, BufferPtr>> next_; ///< being copied
  std::optional<WeightPrediction> prediction_;        ///< if parameters are predicted
};

} // namespace troupe::training
