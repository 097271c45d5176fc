/// Of asynchronous training, what the owner of a shard enqueues: it sums gradients as they come,
/// applies a step when all of them are there, and keeps its newest parameters for who asks. No
/// messages here.
#pragma once

#include "core/config/forward.hpp"
#include "training/async/weight_prediction.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace troupe::training {

/// What becomes of a gradient whose parameters lacked steps: it counts whole; it counts one
/// divided by how many they lacked (Zhang et al., "Staleness-aware Async-SGD for Distributed Deep
/// Learning", IJCAI 2016); or it is compensated (step_sum.hpp).
enum class StaleGradients : std::uint8_t { whole, divided, compensated };

struct ParameterServerOptions {
  std::int64_t staleness = 0; ///< the most steps that parameters lack
  StaleGradients gradients = StaleGradients::whole;
  double compensation = 0; ///< Compensation::rate
  bool predicts = false;   ///< what lacks steps is read as these will leave it (Foresight)
};
ParameterServerOptions parameter_server_options(const ParallelConfig& parallel);

/// On a stream of its own: what other ranks wait for does not stand behind this one's backward
/// (Replica::owner).
class ParameterServerShard {
public:
  /// Blocks. Errors: out_of_memory; the stream's.
  static Result<std::shared_ptr<ParameterServerShard>>
  create(GradientReducerSetup reducer, const ParameterServerOptions& options);

  Stream& stream() const { return *rank_state_->communication; }
  /// Steps that are applied, or being so.
  Version version() const { return version_; }

  /// Whether these have come. Precondition: as add.
  bool has(const Gradients& gradients) const {
    return sum_of(gradients.step).has(gradients.bucket, gradients.slice);
  }
  /// Enqueues. Precondition: the gradients are of a step at most `staleness` beyond version()
  /// (check_message).
  void add(const collectives::MessagePtr& message);
  /// Whether all gradients of the step that is next are there.
  bool is_whole() { return sum_of(version_).is_whole(); }
  /// Enqueues: their sum is the shard's gradient.
  void take();
  /// Enqueues a copy of it, in memory that the host can read.
  Result<BufferPtr> copy_of_gradients();
  /// Enqueues: that of who has its copy here.
  void keep_replica(const collectives::MessagePtr& message);
  /// As Exchange's; they enqueue.
  bool finds() const { return reducer_.finds(version_); }
  void find(StepResults* found) { reducer_.find(version_, found); }
  void prepare(const StepResults* of_all) { reducer_.prepare(of_all); }
  /// Enqueues: one version more, of which these were told. Error: out_of_memory.
  Result<SliceReads> apply(const std::shared_ptr<StepResults>& found);
  /// It is done: what was copied of it may be read.
  void settle();
  /// Of the loss, behind the published version; 1 where losses are not scaled.
  float scale() const { return scale_; }
  /// The newest version whose parameters may be read.
  Version published() const { return versions_.rbegin()->first; }
  /// Which parameters a slice of a step is to be computed with: the published ones, or where these
  /// lack steps and these may be predicted, what can be foreseen of them.
  ParameterVersion version_for(Version step) const;
  /// Enqueues where they are predicted. Error: out_of_memory.
  Result<BufferPtr> parameters(const ParameterVersion& at);

private:
  ParameterServerShard(std::shared_ptr<RankState> rank_state, GradientReducerSetup reducer,
                       ParameterServerOptions options);
  Status allocate();
  Result<BufferPtr> copy(const float* values);
  std::size_t place_of(std::int64_t step) const {
    return static_cast<std::size_t>(step % std::ssize(sums_));
  }
  StepSum& sum_of(std::int64_t step) { return sums_[place_of(step)]; }
  const StepSum& sum_of(std::int64_t step) const { return sums_[place_of(step)]; }
  float factor(const Gradients& of) const;
  Compensation compensation();
  ModelState& state() const { return *rank_state_->state; }

  std::shared_ptr<RankState> rank_state_; ///< whose communication is the owner's stream
  int slices_;
  ParameterServerOptions options_;
  GradientReducer reducer_;
  Version version_ = 0;
  float scale_ = 1;
  std::shared_ptr<StepResults> applied_;       ///< with what was found behind the last step
  std::vector<StepSum> sums_;                  ///< of the steps that may be under way, in turn
  std::map<std::int64_t, SliceReads> counted_; ///< by step
  std::map<Version, BufferPtr> versions_;      ///< those that may be read yet
  std::optional<std::pair<Version, BufferPtr>> next_; ///< being copied
  std::optional<WeightPrediction> prediction_;        ///< where parameters are predicted
};

} // namespace troupe::training
