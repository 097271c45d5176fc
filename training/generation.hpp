/// Everything that belongs to one membership: this node's ranks, their communicators and streams,
/// the flat layout of the state, and the executables' bindings to it. Built from a compiled job and
/// a node assignment. Destroying a generation leaves the compiled job untouched.
#pragma once

#include "collectives/data_plane/connection_group.hpp"
#include "collectives/point_to_point/point_to_point.hpp"
#include "data/slice_balancer.hpp"
#include "metrics/trace.hpp"
#include "training/compiled_job.hpp"
#include "training/node_assignment.hpp"
#include "training/rank_state.hpp"
#include "training/shard_replicas.hpp"
#include "training/strategies/async/parameter_server_shard.hpp"
#include "training/strategies/diloco/outer_state.hpp"
#include "training/strategies/diloco/pseudo_gradient_reducer.hpp"

#include <memory>
#include <vector>

namespace troupe::training {

class Generation {
public:
  Generation(std::shared_ptr<CompiledJob> compiled_job, NodeAssignment assignment,
             metrics::Trace trace);
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;
  /// Blocks until all streams are idle, then unbinds the executables' buffers.
  ~Generation();

  const Job& job() const { return *compiled_job->job; }
  /// Returns the run's description. Precondition: the generation is built.
  metrics::RunInfo info() const;
  /// Whether ranks vote before they apply a step: if they are in several processes (ADR 26).
  bool votes() const { return assignment.generation.nodes.size() > 1; }
  /// Returns the setup of a rank's GradientReducer, without rows in a timeline.
  GradientReducerSetup reducer(const std::shared_ptr<RankState>& rank_state) const;
  /// Returns the policy by which slices are assigned to ranks, from the first step on.
  data::SliceBalancer balancer() const;
  /// Blocks until all streams have finished or failed.
  void drain() const;

  const std::shared_ptr<CompiledJob> compiled_job;
  const NodeAssignment assignment;
  const int world_size;
  const Strategy strategy;
  const ShardReplicas shard_replicas;
  const data::SliceAssignment slice_assignment; ///< slices of a global batch, by rank
  const metrics::Trace trace;                   ///< off unless the config enables tracing
  std::int64_t first_step = 0;
  std::shared_ptr<const data::BatchAssembler> evaluation; ///< for these ranks; null: never
  std::vector<std::shared_ptr<RankState>> rank_states;    ///< this node's, by rank
  // Messages between ranks outside of collectives: used by asynchronous training and by replica
  // groups that train apart (DiLoCo). The vectors are by index in rank_states. `owners`: the
  // parameter server shard of each rank in asynchronous training. `outer`: the DiLoCo state of each
  // rank. `sums`: the pseudo-gradient reducer of a rank that leads its replica group, else null.
  std::shared_ptr<collectives::PointToPoint> point_to_point;
  std::vector<std::shared_ptr<ParameterServerShard>> owners;
  std::vector<std::shared_ptr<OuterState>> outer;
  std::vector<std::shared_ptr<PseudoGradientReducer>> sums;
  std::vector<LoaderStream> loader_streams;
  /// Shared by this node's loaders.
  const std::shared_ptr<LoaderWork> loader_work = std::make_shared<LoaderWork>();
};

/// Blocks until the ranks of all nodes are connected and have loaded the state. The generation then
/// owns the state; after an error the compiled job still does. Errors: invalid_input (the slices
/// cannot be assigned), out_of_memory, network (another node did not connect).
Result<std::shared_ptr<Generation>>
build_generation(const std::shared_ptr<CompiledJob>& compiled_job, const NodeAssignment& assignment,
                 const std::shared_ptr<collectives::ConnectionGroup>& connection_group = nullptr,
                 const metrics::Trace& trace = {});

/// Returns the state to the compiled job, as the state after `step` steps. Precondition: all ranks
/// are in this process. If ranks vote, the statistics are those committed with `step`, whatever
/// later steps have started since. Blocks. Nothing else may be enqueued meanwhile. Errors: those of
/// the streams.
Status return_state(const Generation& generation, std::int64_t step);

/// Returns the state to the compiled job when other nodes may be gone and streams may have failed.
/// Takes the state of a rank of this node that has applied the most steps. If no rank has the whole
/// state, keeps the shards of each rank instead (CompiledJob::retained). Blocks.
Status salvage_state(const Generation& generation);

} // namespace troupe::training
