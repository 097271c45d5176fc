/// What a rank keeps where teams train apart, beside its own state: the parameters that all teams
/// agreed on last, the outer optimizer over them, and what was rounded off of its changes. What it
/// enqueues there is here; no messages.
#pragma once

#include "collectives/point_to_point/message.hpp"
#include "training/diloco/fragment.hpp"
#include "training/rank_state.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe::training {

/// Everything is enqueued on the rank's communication stream, in the same order on all ranks of a
/// team. Ranks that do not speak for their team (Strategy::leads_replica_group) have the same state
/// without what was rounded off.
class OuterState {
public:
  /// Blocks. Errors: out_of_memory; the stream's.
  static Result<std::shared_ptr<OuterState>> create(std::shared_ptr<RankState> rank_state);

  const std::vector<Fragment>& fragments() const { return fragments_; }
  bool leads() const { return strategy().leads_replica_group(rank_state_->rank); }
  const RankState& rank_state() const { return *rank_state_; }
  const collectives::Strategy& strategy() const { return state().strategy(); }

  /// Enqueues: a fragment's round ends here. What of it has changed, times `weight`, for each owner
  /// as it travels; nothing where another rank speaks for the team. Error: out_of_memory.
  Result<std::vector<BufferPtr>> end_round(int fragment, double weight);
  /// Enqueues: the outer optimizer takes the sums of a round's changes, one of each owner, and what
  /// has been trained since is added to what it comes to. The squared norm of that to `norm`.
  void apply(int fragment, std::span<const collectives::MessagePtr> sums, double* norm);

  // All ranks at the same time: teams come to one state. What was rounded off is sent along.
  /// Enqueues: of a fragment. `late`: changes of this rank's chunk that no round has taken;
  /// `rounded_off`: what its owner has of sums, or null. Where nothing was `trained` since the last
  /// round the outer optimizer makes no step of its own.
  void synchronize(int fragment, bool trained, double weight,
                   std::span<const collectives::MessagePtr> late, const float* rounded_off);
  /// Enqueues: the optimizer's state is the mean of all teams'.
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
  Result<BufferPtr> encode(const Fragment& fragment, std::size_t owner);
  void step(const Fragment& fragment, bool with_momentum);
  void add_to_local(const Fragment& fragment);
  void settle(const Fragment& fragment);
  void sum_over_replica_groups(float* values, std::size_t elements, DType narrow);

  std::shared_ptr<RankState> rank_state_;
  std::vector<Fragment> fragments_;
  BufferPtr global_;          ///< all fragments
  BufferPtr sent_;            ///< the same: parameters as they were sent; null without overlap
  BufferPtr residual_;        ///< the same; null where nothing is rounded off, or it is not kept
  BufferPtr pseudo_gradient_; ///< of a fragment
  BufferPtr decoded_;         ///< of a chunk, or narrow values of a fragment
};

} // namespace troupe::training
