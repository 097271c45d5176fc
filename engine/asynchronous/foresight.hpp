/// What a shard's next steps will come to, before all of their gradients are there.
#pragma once

#include "engine/asynchronous/step_sum.hpp"
#include "engine/exchange/exchange.hpp"

#include <memory>
#include <vector>

namespace troupe::engine {

/// Steps that the optimizer makes on copies of the shard and its state. For the gradient each takes
/// the mean of those that have come, by bucket; where none has, it is zero, and what the step
/// changes is momentum's alone. A reader whose slice would lack steps reads these parameters: they
/// differ from what the steps will come to by the gradients that are still to come. (SpecTrain
/// predicts by momentum alone: Chen et al., "Efficient and Robust Parallel DNN Training through
/// Model Parallelism on Multi-GPU Platform", 2018.) On the owner's stream.
class Foresight {
public:
  /// `exchange`, which runs on the same stream, has to outlive it. Errors: out_of_memory.
  static Result<Foresight> create(std::shared_ptr<Replica> replica, const Exchange& exchange);

  /// What was foreseen is so no longer.
  void forget() { foreseen_.clear(); }
  /// How many are foreseen, behind those that are applied or being so.
  std::int64_t steps() const { return std::ssize(foreseen_); }
  /// Enqueues one more step. Error: out_of_memory.
  Status add(std::int64_t step, StepSum& sum);
  /// What so many steps come to, in memory that the host can read. Precondition: 0 < steps <=
  /// steps().
  const BufferPtr& parameters(std::int64_t steps) const {
    return foreseen_[static_cast<std::size_t>(steps - 1)];
  }

private:
  Foresight(std::shared_ptr<Replica> replica, const Exchange& exchange)
      : replica_{std::move(replica)}, exchange_{&exchange} {}
  void begin();
  ModelState& state() const { return *replica_->state; }
  Stream& stream() const { return *replica_->communication; }

  std::shared_ptr<Replica> replica_;
  const Exchange* exchange_;
  ShardCopy copy_;
  std::vector<BufferPtr> foreseen_; ///< by steps
};

} // namespace troupe::engine
