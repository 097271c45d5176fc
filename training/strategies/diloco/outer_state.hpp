/// A rank's DiLoCo state: the global parameters that all replica groups agreed on last, the outer
/// optimizer over them, and the rounding error of compressed pseudo-gradients. Enqueues the work on
/// it; sends no messages.
#pragma once

#include "collectives/point_to_point/message.hpp"
#include "training/rank_state.hpp"
#include "training/strategies/diloco/fragments.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe::training {

/// Enqueues on the rank's communication stream, in the same order on all ranks of a replica group.
/// Ranks that do not lead their replica group (Strategy::leads_replica_group) have the same state
/// without the rounding error.
class OuterState {
public:
  /// Blocks. Errors: out_of_memory; the stream's.
  static Result<std::shared_ptr<OuterState>> create(std::shared_ptr<RankState> rank_state);

  const std::vector<Fragment>& fragments() const { return fragments_; }
  bool leads() const { return strategy().leads_replica_group(rank_state_->rank); }
  const RankState& rank_state() const { return *rank_state_; }
  const Strategy& strategy() const { return state().layout().strategy(); }

  /// Enqueues: ends a fragment's round. Returns the pseudo-gradient times `weight`, encoded, one
  /// buffer for each owner; nothing if this rank does not lead its replica group. Error:
  /// out_of_memory.
  Result<std::vector<BufferPtr>> end_round(int fragment, double weight);
  /// Enqueues: applies the outer optimizer to a round's sums, one from each owner, and adds to the
  /// result what was trained since the round ended. Writes the squared norm of the new global
  /// parameters to `norm`.
  void apply(int fragment, std::span<const collectives::MessagePtr> sums, double* norm);

  // Call on all ranks at the same time: all replica groups get one state. Rounding errors are sent
  // too.
  /// Enqueues: synchronizes a fragment. `late`: pseudo-gradients of this rank's chunk that no round
  /// has summed; `rounded_off`: rounding error of the chunk owner's sums, or null. `trained`: steps
  /// were trained since the last round; if false, the outer optimizer applies the sum without
  /// momentum.
  void synchronize(int fragment, bool trained, double weight,
                   std::span<const collectives::MessagePtr> late, const float* rounded_off);
  /// Enqueues: averages the optimizer's state over all replica groups.
  void average_optimizer(double weight);

private:
  explicit OuterState(std::shared_ptr<RankState> rank_state);
  Status allocate();
  ModelState& state() const { return *rank_state_->state; }
  Device& device() const { return rank_state_->device(); }
  Stream& stream() const { return *rank_state_->communication; }
  const Fragment& at(int fragment) const { return fragments_[static_cast<std::size_t>(fragment)]; }
  float* in(const BufferPtr& array, const Fragment& fragment) const {
    return array->floats() + fragment.place;
  }
  float* parameters(const Fragment::Part& part) const;
  void copy_local(const Fragment& fragment, float* to);
  void take_pseudo_gradient(const Fragment& fragment, double weight);
  void step(const Fragment& fragment, bool with_momentum);
  void add_to_local(const Fragment& fragment);
  void settle(const Fragment& fragment);
  void sum_over_replica_groups(float* values, std::size_t elements, DType narrow);

  std::shared_ptr<RankState> rank_state_;
  std::vector<Fragment> fragments_;
  BufferPtr global_; ///< of all fragments
  /// Local parameters of all fragments at their rounds' ends. Null without overlap.
  BufferPtr sent_;
  /// Rounding error of all fragments. Null without compression or error feedback.
  BufferPtr residual_;
  BufferPtr pseudo_gradient_; ///< of one fragment
  BufferPtr decoded_;         ///< of a chunk; also values of a fragment in a narrower type
};

} // namespace troupe::training
