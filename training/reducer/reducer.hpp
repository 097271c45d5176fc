/// What a SHARD MANAGER enqueues on its rank's communication stream: collectives, sums, the
/// optimizer. No messages here: every rank that makes the same calls in the same order is right.
#pragma once

#include "collectives/step_policy.hpp"
#include "metrics/step_record.hpp"
#include "metrics/trace.hpp"
#include "training/rank_state.hpp"
#include "training/reducer/host_optimizer.hpp"

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
  std::uint64_t bytes; ///< that this rank has sent
};

/// Work that the communication stream did for a step.
struct Collectives {
  std::int64_t step = -1;
  std::vector<Collective> done;
  /// Begin and end of what the optimizer took, or of a wait for the host's.
  std::vector<std::pair<EventPtr, EventPtr>> updates = {};
};

/// What is known of a step once its optimizer has run.
struct StepResults {
  LossScaleState loss_scale = {}; ///< after the step, where losses are scaled
  /// Squared global norm of the gradient, before it was clipped by that; below 0: not measured.
  /// Where one rank alone has the sums (Strategy::root_only), only its own is right.
  double squared_norm = -1;
  /// Where ranks were averaged (Exchange::finish_step): the mean of the squared norms of their
  /// parameters, and the squared norm of the mean. They differ by how far the ranks were apart.
  double mean_square = -1, square_of_mean = -1;
};

/// Of all slices of a global batch, those of this rank's team.
int slices_of_replica_group(const data::SliceAssignment& slice_assignment,
                            const collectives::Strategy& strategy, int rank);

/// Of what a rank owns, in the order of ModelState::owned_parameters.
struct ShardCopy {
  BufferPtr parameters = nullptr;
  std::vector<BufferPtr> slots = {}; ///< of the optimizer
};

struct GradientReducerSetup {
  std::shared_ptr<RankState> rank_state;
  data::SliceAssignment slice_assignment = {};
  /// A step is applied after one vote of all ranks: where they are in several processes, of which
  /// one may die.
  bool votes = false;
  int replica_distance = 0; ///< to who has a copy of this rank's shard (buddies.hpp); 0: nobody
  std::optional<double> clip_norm = {}; ///< largest global norm of the averaged gradients
  std::int64_t norm_every = 0; ///< steps from one measured norm to the next; 0: only to clip
  std::optional<LossScaleOptions> loss_scale = {}; ///< as the state's, when it has one
  /// The optimizer's arguments for a step, with its learning rate; pure.
  std::function<OptimizerArguments(std::int64_t step)> optimizer;
  metrics::Track row = {};          ///< of the stream in the timeline
  HostOptimizerRows host_rows = {}; ///< where state is offloaded
};

class GradientReducer {
public:
  explicit GradientReducer(GradientReducerSetup setup);

  const collectives::FlatPlan& plan() const { return state().plan(); }
  const collectives::Strategy& strategy() const { return state().strategy(); }

  /// All ranks' shards of a bucket's parameters to where executables read them.
  void gather(const collectives::Bucket& bucket, Collectives& done);
  const data::SliceAssignment& slice_assignment() const { return setup_.slice_assignment; }
  /// Between two steps: slices are dealt so from now on.
  void deal(const data::SliceAssignment& next) { setup_.slice_assignment = next; }
  /// Adds a unit's fresh gradients to those of the step's passes before this one; the last leaves
  /// the sum where the fresh ones were. In an empty pass there are none.
  void accumulate(UnitId unit, std::int64_t pass);
  /// Whether a pass's gradients, with those before it, are to be reduced.
  bool sums(std::int64_t pass) const {
    return rules_.sums(strategy(), setup_.slice_assignment.step_of(pass),
                       setup_.slice_assignment.ends_step(pass));
  }
  /// Sums a bucket's gradients over ranks, each its shard where they are divided, and over passes
  /// that came this way.
  void reduce(const collectives::Bucket& bucket, std::int64_t pass, Collectives& done);
  /// Whether the optimizer may take a bucket of this step before the others are reduced: nothing is
  /// asked of all gradients together.
  bool applies_early(std::int64_t step) const;
  void apply(const collectives::Bucket& bucket, Collectives& done);
  /// Clips and applies what was not applied early, ends the step of the loss scale, and a round
  /// that ends with it; `found` must live until that is done.
  void finish_step(std::int64_t step, StepResults* found, Collectives& done);
  // Where ranks train asynchronously, a step that gradients() has the sum of: what is to be found
  // in this rank's shard of it, if anything, to `found`; what was found in all (null: nothing was
  // to be), with which it can be applied whatever happens; and that it is. What they are given must
  // live until the stream is there.
  bool finds(std::int64_t step) const { return state().loss_scale() || measures_norm(step); }
  void find(std::int64_t step, StepResults* found);
  void prepare(const StepResults* of_all);
  void apply_prepared(std::int64_t step, StepResults* found);
  /// What a step would make of a bucket whose gradient is the mean of so many slices, of which this
  /// is the sum; to copies, and without what is asked of all gradients together.
  void apply_to(const ShardCopy& copy, const collectives::Bucket& bucket, std::int64_t step,
                const float* sum, int slices) const;
  /// Behind this step, within a round: all ranks have one state, the mean of theirs. Where they
  /// train in teams, those have met already (OuterState), but for batch norms' statistics.
  void synchronize(std::int64_t step);
  /// Of a step that this rank has voted for (ModelState::prepares) and others have applied, applies
  /// what they have; on streams of its own, as those of the generation have failed. Blocks.
  Status roll_forward(std::int64_t step);
  /// Whether a bucket's new parameters are sent as soon as they are there, beside the rest of
  /// backward, and not beside the next forward.
  bool publishes_early(const collectives::Bucket& bucket, std::int64_t step) const;
  /// A bucket's new parameters to all ranks that keep them whole.
  void publish(const collectives::Bucket& bucket, Collectives& done);
  /// The stream that is done when all of the step is.
  Stream& last_stream() { return host_ ? host_->join() : stream(); }
  /// Rank 0's statistics to all, as DistributedDataParallel does.
  void share_statistics();

  /// What is written (ModelState::written) into the rank's snapshot. Where that is rank 0's alone,
  /// all ranks make the same call, and the others give null.
  void copy_state(Snapshot* snapshot);
  // No more memory than a piece takes, from the first to the last.
  /// One of ModelState::saved() to rank 0: all ranks make the same call, the others give null.
  void gather_chunk(std::size_t index, StateChunk* chunk);
  /// One of ModelState::written() that is this rank's part.
  void copy_own_chunk(std::size_t index, StateChunk& chunk);

private:
  RankState& rank_state() const { return *setup_.rank_state; }
  ModelState& state() const { return *setup_.rank_state->state; }
  Stream& stream() const { return *setup_.rank_state->communication; }
  /// `of`: what is sent, where that is no bucket.
  void collective(collectives::Communicator& communicator, metrics::CollectiveKind kind,
                  std::size_t bytes, Collectives& done, const std::function<void()>& call,
                  std::string_view of = "");
  collectives::Values shard_on_wire(std::size_t elements, DType type) const;
  void reduce_shards(const collectives::Bucket& bucket, float* mine, Collectives& done);
  void reduce_replicated(float* gradients, std::size_t elements, Collectives& done);
  /// `fresh` are the gradients of part `index` of a sum of `parts`.
  void add_part(float* fresh, float* sum, std::size_t elements, int index, int parts);
  void send_to_replica(const collectives::Bucket& bucket, const float* gradients,
                       Collectives& done);
  DType replica_type() const;
  Status roll_forward_on_host(const OptimizerArguments& taken, Stream& stream);
  OptimizerArguments arguments(std::int64_t step) const;
  /// Whether a step's gradients are those of all ranks.
  bool sums_step(std::int64_t step) const { return rules_.sums(strategy(), step, true); }
  void apply_together(std::int64_t step, StepResults* found, Collectives& done);
  void end_round(std::int64_t step, StepResults* found, Collectives& done);
  void average(collectives::OptimizerAtRound optimizer, StepResults* found, Collectives& done);
  void average(float* values, std::size_t elements, Collectives& done, std::string_view what);
  void average_optimizer(collectives::OptimizerAtRound how, Collectives& done);
  void average_rest(Collectives& done);
  void add_squared_parameters(double weight);
  double weight() const;
  int summed_slices(std::int64_t step) const;
  bool votes(std::int64_t step) const;
  void vote(std::int64_t step, Collectives& done);
  void commit_statistics(std::int64_t step, Collectives& done);
  void find_overflow(Collectives& done);
  bool measures_norm(std::int64_t step) const;
  void end_scaled_step(StepResults* found);
  void add_squared_gradients(const OptimizerArguments& arguments);
  void find_norm(const OptimizerArguments& arguments, StepResults* found, Collectives& done);
  void apply(const OptimizerChunk& chunk, const OptimizerArguments& arguments);
  void apply_to_copy(const OptimizerArguments& arguments);
  void apply_on_host(const OptimizerArguments& taken, std::int64_t step);
  float* shard_of_parameters(const collectives::Bucket& bucket);
  const float* whole_chunk(const collectives::Bucket& bucket, const float* kept,
                           const float* offloaded);
  void await_host();
  void await_host(const collectives::Bucket& bucket, Collectives& done);
  void copy_bucket(std::size_t array, std::size_t number, const Snapshot* snapshot);
  void begin_chunk(std::size_t index, const SavedChunk& saved, StateChunk& chunk);
  void copy_ranges(const SavedChunk& saved, float* to);
  void gather_ranges(std::size_t index, float* to);
  const float* shard_of(std::size_t array, const collectives::Bucket& bucket);
  const float* gather_saved(std::size_t array, const collectives::Bucket& bucket, bool here);
  bool takes_part_in_saving() const;
  bool has_optimizer() const { return !strategy().root_only || rank_state().rank == 0; }

  GradientReducerSetup setup_;
  const collectives::StepRules& rules_;
  std::optional<HostOptimizer> host_; ///< where state is offloaded
};

} // namespace troupe::training
