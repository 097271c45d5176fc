/// Work that a SHARD MANAGER enqueues on its rank's communication stream: collectives, sums and the
/// optimizer. Sends no messages. Correct if every rank makes the same calls in the same order.
#pragma once

#include "metrics/records/step.hpp"
#include "metrics/trace.hpp"
#include "training/rank_state.hpp"
#include "training/reducer/host_optimizer.hpp"
#include "training/state/state_copier.hpp"
#include "training/step_plan.hpp"
#include "training/step_results.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::training {

struct Collective {
  metrics::CollectiveKind kind;
  EventPtr begin, end;
  std::uint64_t bytes; ///< sent by this rank
};

/// Work of the communication stream for one step.
struct Collectives {
  std::int64_t step = -1;
  std::vector<Collective> done;
  /// Start and end of each optimizer update, or of each wait for the host's.
  std::vector<std::pair<EventPtr, EventPtr>> updates = {};
};

/// Returns the number of slices of a global batch that the rank's replica group has.
int slices_of_replica_group(const data::SliceAssignment& slice_assignment, const Strategy& strategy,
                            int rank);

/// A copy of a rank's shard, in the order of FlatBuffers::owned_parameters.
struct ShardCopy {
  BufferPtr parameters = nullptr;
  std::vector<BufferPtr> slots = {}; ///< of the optimizer
};

struct GradientReducerSetup {
  std::shared_ptr<RankState> rank_state;
  data::SliceAssignment slice_assignment = {};
  /// A step is applied after a vote of all ranks: set if they are in several processes, because one
  /// of them may die.
  bool votes = false;
  int replica_distance = 0;             ///< to this rank's replica (shard_replicas.hpp); 0: none
  std::optional<double> clip_norm = {}; ///< maximum global norm of the averaged gradients
  std::int64_t norm_every = 0;          ///< steps between measured norms; 0: only to clip
  std::optional<LossScaleOptions> loss_scale = {}; ///< as the state's
  /// Returns the optimizer's arguments for a step, with its learning rate. Pure.
  std::function<OptimizerArguments(std::int64_t step)> optimizer;
  metrics::Track row = {};          ///< of the stream in the timeline
  HostOptimizerRows host_rows = {}; ///< if state is offloaded
};

class GradientReducer {
public:
  explicit GradientReducer(GradientReducerSetup setup);

  const FlatPlan& plan() const { return state().layout().plan(); }
  const Strategy& strategy() const { return state().layout().strategy(); }

  /// Returns what ranks do together in the step.
  StepPlan step_plan(std::int64_t step) const;
  /// Gathers all ranks' shards of a bucket's parameters to the address that executables read.
  void gather(const Bucket& bucket, Collectives& done);
  const data::SliceAssignment& slice_assignment() const { return setup_.slice_assignment; }
  /// Changes the slice assignment. Call between two steps.
  void assign(const data::SliceAssignment& next) { setup_.slice_assignment = next; }
  /// Adds a unit's fresh gradients to the sum of the step's earlier passes. The last pass leaves
  /// the sum in place of the fresh gradients. An empty pass has no gradients.
  void accumulate(UnitId unit, std::int64_t pass);
  /// Whether the gradients summed up to this pass are to be reduced now.
  bool sums(std::int64_t pass) const {
    return step_plan(setup_.slice_assignment.step_of(pass))
        .sums_after_pass(setup_.slice_assignment.ends_step(pass));
  }
  /// Sums a bucket's gradients over ranks, each rank its shard if they are divided, and over the
  /// passes that are reduced separately.
  void reduce(const Bucket& bucket, std::int64_t pass, Collectives& done);
  void apply(const Bucket& bucket, Collectives& done);
  /// Clips and applies the buckets that were not applied early, updates the loss scale, and ends a
  /// round if the step is its last. `found` must live until that is done.
  void finish_step(std::int64_t step, StepResults* found, Collectives& done);
  // Asynchronous steps, applied after gradients() has the sum. `find` writes results of this rank's
  // shard to `found`, if the step has any (`finds`). `prepare` takes the results of all ranks (null
  // if the step has none); from then on this rank can apply the step without others.
  // `apply_prepared` applies it. Arguments must live until the stream has passed these calls.
  bool finds(std::int64_t step) const {
    return state().loss_scale() || step_plan(step).measures_norm;
  }
  void find(std::int64_t step, StepResults* found);
  void prepare(const StepResults* of_all);
  void apply_prepared(std::int64_t step, StepResults* found);
  /// Applies a step to a copy of a bucket. `sum`: sum of the gradients of `slices` slices. Ignores
  /// everything that depends on all gradients together (clipping, loss scale).
  void apply_to(const ShardCopy& copy, const Bucket& bucket, std::int64_t step, const float* sum,
                int slices) const;
  /// Ends a step within a round with one state on all ranks: the mean of theirs. Replica groups
  /// have already synchronized their parameters (OuterState); here they average only batch norm
  /// statistics.
  void synchronize(std::int64_t step);
  /// Applies a step that this rank has voted for (ModelState::prepares) and other ranks have
  /// applied. Uses new streams, because those of the generation have failed. Blocks.
  Status roll_forward(std::int64_t step);
  /// Sends a bucket's new parameters to all ranks that store them whole.
  void publish(const Bucket& bucket, Collectives& done);
  /// Returns a stream that finishes after all of the step.
  Stream& last_stream() { return host_ ? host_->join() : stream(); }
  /// Broadcasts rank 0's statistics, as DistributedDataParallel does.
  void share_statistics();

  /// Makes the stream wait for the host's optimizer, and returns a copier of the state.
  StateCopier copier();

private:
  RankState& rank_state() const { return *setup_.rank_state; }
  ModelState& state() const { return *setup_.rank_state->state; }
  const StateLayout& layout() const { return state().layout(); }
  const FlatBuffers& buffers() const { return state().buffers(); }
  const OptimizerPart& part() const { return buffers().part(); }
  Stream& stream() const { return *setup_.rank_state->communication; }
  /// `of`: name of the values that are sent, unless they are a bucket.
  void collective(collectives::Communicator& communicator, metrics::CollectiveKind kind,
                  std::size_t bytes, Collectives& done, const std::function<void()>& call,
                  std::string_view of = "");
  void all_reduce(collectives::Communicator& group, const collectives::Values& values,
                  Collectives& done, std::string_view of);
  /// From rank 0 to all ranks.
  void broadcast(const collectives::Values& values, Collectives& done, std::string_view of = "");
  /// Returns where values are sent from and received: in place or, in a narrower type, at an
  /// element of the send buffer. `narrow` and `widen` enqueue the conversion, if there is one.
  collectives::Values as_sent(float* values, std::size_t elements, DType type,
                              std::size_t place = 0) const;
  void narrow(const float* values, const collectives::Values& to);
  void widen(const collectives::Values& sent, float* to);
  void reduce_shards(const Bucket& bucket, float* mine, Collectives& done);
  void reduce_replicated(float* gradients, std::size_t elements, Collectives& done);
  /// Adds part `index` of `parts` (`fresh`) to `sum`. The last part leaves the total in `fresh`.
  void add_part(float* fresh, float* sum, std::size_t elements, int index, int parts);
  void send_to_replica(const Bucket& bucket, float* gradients, Collectives& done);
  DType replica_type() const;
  Status roll_forward_on_host(const OptimizerArguments& taken, Stream& stream);
  OptimizerArguments arguments(std::int64_t step) const;
  void apply_together(std::int64_t step, const StepPlan& planned, StepResults* found,
                      Collectives& done);
  void end_round(std::int64_t step, const StepPlan& planned, StepResults* found, Collectives& done);
  void average(OptimizerAtRound optimizer, StepResults* found, Collectives& done);
  void average(float* values, std::size_t elements, Collectives& done, std::string_view what);
  void average_optimizer(OptimizerAtRound how, Collectives& done);
  void average_rest(Collectives& done);
  void add_squared_parameters(double weight);
  double weight() const;
  int summed_slices(std::int64_t step) const;
  void vote(std::int64_t step, Collectives& done);
  void commit_statistics(std::int64_t step, Collectives& done);
  void find_overflow(Collectives& done);
  void check_finite();
  void apply_kept(const OptimizerArguments& taken, StepResults* found);
  void end_scaled_step(StepResults* found);
  void add_squared_gradients(const OptimizerArguments& arguments);
  void find_norm(const OptimizerArguments& arguments, StepResults* found, Collectives& done);
  void apply(const std::vector<OptimizerChunk>& chunks, const OptimizerArguments& arguments);
  void apply_on_host(const OptimizerArguments& taken, std::int64_t step);
  float* shard_of_parameters(const Bucket& bucket);
  void await_host(const Bucket& bucket, Collectives& done);

  GradientReducerSetup setup_;
  std::optional<HostOptimizer> host_; ///< if state is offloaded
};

} // namespace troupe::training
