/// Work that a SHARD MANAGER enqueues on its rank's communication stream: collectives, sums and the
/// optimizer. Sends no messages. Correct if every rank makes the same calls in the same order.
#pragma once

#include "training/reducer/reducer_setup.hpp"
#include "training/reducer/shard_optimizer.hpp"
#include "training/reducer/timed_collectives.hpp"
#include "training/state/state_copier.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace troupe::training {

class GradientReducer {
public:
  explicit GradientReducer(GradientReducerSetup setup);

  const FlatPlan& plan() const { return state().layout().plan(); }
  const Strategy& strategy() const { return state().layout().strategy(); }
  const data::SliceAssignment& slice_assignment() const { return setup_.slice_assignment; }
  /// Changes the slice assignment. Call between two steps.
  void assign(const data::SliceAssignment& next) { setup_.slice_assignment = next; }
  /// Returns the plan of a step. Call once, when it begins.
  StepPlan step_plan(std::int64_t step) const { return setup_.step_plan(step); }

  // A step, in the order of these calls. `work` has its plan.

  /// Gathers all ranks' shards of a bucket's parameters to the address that executables read.
  void gather(const Bucket& bucket, StepWork& work);
  /// Adds a unit's fresh gradients to the sum of the step's earlier passes, unless backward has
  /// done it. The last pass leaves the sum in place of the fresh gradients. An empty pass has no
  /// gradients.
  void accumulate(UnitId unit, std::int64_t pass, const StepPlan& planned);
  /// Reduces, applies and publishes a bucket whose gradients a pass has completed, if the plan says
  /// so. Returns the event after the reduction.
  EventPtr finish_bucket(const Bucket& bucket, std::int64_t pass, StepWork& work);
  /// Clips and applies the buckets that were not applied early, updates the loss scale, and ends a
  /// round if the step is its last. `found` must live until that is done.
  void finish_step(StepResults* found, StepWork& work);
  /// Publishes the buckets that were not published early.
  void publish_rest(StepWork& work);

  /// Sends a bucket's new parameters to all ranks that store them whole.
  void publish(const Bucket& bucket, StepWork& work);
  /// The event from which the bucket's whole parameters are ready; null before the first call of
  /// gather or publish.
  const EventPtr& ready(std::size_t bucket) const { return ready_[bucket]; }
  /// Ends a step within a round with one state on all ranks: the mean of theirs. Replica groups
  /// have already synchronized their parameters (OuterState); here they average only batch norm
  /// statistics. Publishes the parameters.
  void synchronize();
  /// Returns a stream that finishes after all of the step.
  Stream& last_stream() { return host_ ? host_->join() : stream(); }
  /// Broadcasts rank 0's statistics, as DistributedDataParallel does.
  void share_statistics();

  /// Makes the stream wait for the host's optimizer, and returns a copier of the state.
  StateCopier copier();

private:
  RankState& rank_state() const { return *setup_.rank_state; }
  Device& device() const { return rank_state().device(); }
  ModelState& state() const { return *setup_.rank_state->state; }
  const StateLayout& layout() const { return state().layout(); }
  const FlatBuffers& buffers() const { return state().buffers(); }
  const OptimizerPart& part() const { return buffers().part(); }
  Stream& stream() const { return *setup_.rank_state->communication; }
  /// Sums a bucket's gradients over ranks, each rank its shard if they are divided, and over the
  /// passes that are reduced separately.
  void reduce(const Bucket& bucket, std::int64_t pass, StepWork& work);
  void reduce_shards(const Bucket& bucket, float* mine, StepWork& work);
  void reduce_replicated(float* gradients, std::size_t elements, StepWork& work);
  /// Adds part `index` of `parts` (`fresh`) to `sum`. The last part leaves the total in `fresh`.
  void add_part(float* fresh, float* sum, std::size_t elements, int index, int parts);
  void send_to_replica(const Bucket& bucket, float* gradients, StepWork& work);
  DType replica_type() const;
  void apply(const Bucket& bucket, StepWork& work);
  void apply_together(StepResults* found, StepWork& work);
  void find_norm(const OptimizerArguments& taken, StepResults* found, StepWork& work);
  void send_statistics(StepWork& work);
  void vote(StepWork& work);
  void end_round(StepResults* found, StepWork& work);
  float* shard_of_parameters(const Bucket& bucket);
  void await_host(const Bucket& bucket, StepWork& work);

  GradientReducerSetup setup_;
  TimedCollectives collectives_;
  ShardOptimizer optimizer_;
  std::optional<HostOptimizer> host_; ///< if state is offloaded
  std::vector<EventPtr> ready_;       ///< by bucket
};

} // namespace troupe::training
