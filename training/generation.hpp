/// What belongs to one membership: this node's ranks, their groups and streams, the flat layout of
/// the state, and executables' bindings to it. Made from a host and a seat, and dropped without
/// touching the host.
#pragma once

#include "collectives/point_to_point/point_to_point.hpp"
#include "collectives/tcp/data_plane.hpp"
#include "metrics/trace.hpp"
#include "training/async/parameter_server_shard.hpp"
#include "training/compiled_job.hpp"
#include "training/diloco/outer_state.hpp"
#include "training/diloco/pseudo_gradient_reducer.hpp"
#include "training/input/batch_producers.hpp"
#include "training/node_assignment.hpp"
#include "training/rank_state.hpp"
#include "training/shard_replicas.hpp"

#include <memory>
#include <vector>

namespace troupe::training {

class Generation {
public:
  Generation(std::shared_ptr<CompiledJob> host, NodeAssignment assignment, metrics::Trace trace);
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;
  /// Blocks until nothing runs any more, and takes the executables' buffers away.
  ~Generation();

  const Job& job() const { return *host->job; }
  /// What is known of the run now. Precondition: it is formed.
  metrics::RunInfo info() const;
  /// Whether ranks vote before they apply a step: where they are in several processes (ADR 26).
  bool votes() const { return assignment.generation.nodes.size() > 1; }
  /// What a replica's SHARD MANAGER enqueues with, without rows in a timeline.
  GradientReducerSetup reducer(const std::shared_ptr<RankState>& rank_state) const;
  /// Blocks until all streams are done, or have failed.
  void drain() const;

  const std::shared_ptr<CompiledJob> host;
  const NodeAssignment assignment;
  const int world_size;
  const collectives::Strategy strategy;
  const ShardReplicas shard_replicas;
  const data::SliceAssignment slice_assignment; ///< of the slices of a global batch
  const metrics::Trace trace;                   ///< off unless it was asked for
  std::int64_t first_step = 0;
  std::shared_ptr<const data::BatchAssembler> evaluation; ///< dealt to these ranks; null: never
  std::vector<std::shared_ptr<RankState>> rank_states;    ///< this node's, by rank
  std::vector<BatchProducers> producers;                  ///< by replica
  // Where ranks do not always meet, what goes between them. By replica, where they train
  // asynchronously who owns its shard; and where teams train apart, what these agreed on, and who
  // sums its chunks of their changes, if it speaks for its team.
  std::shared_ptr<collectives::PointToPoint> point_to_point;
  std::vector<std::shared_ptr<ParameterServerShard>> owners;
  std::vector<std::shared_ptr<OuterState>> outer;
  std::vector<std::shared_ptr<PseudoGradientReducer>> sums;
  std::vector<LoaderStream> loader_streams;
  const std::shared_ptr<LoaderWork> loader_work =
      std::make_shared<LoaderWork>(); ///< of this host's
};

/// Blocks until the ranks of all nodes are connected and have the host's state, which is theirs
/// from then on; after an error it is still the host's. Errors: invalid_input (the slices cannot be
/// dealt), out_of_memory, network (another node did not come).
Result<std::shared_ptr<Generation>>
build_generation(const std::shared_ptr<CompiledJob>& host, const NodeAssignment& assignment,
                 const std::shared_ptr<collectives::ConnectionGroup>& connection_group = nullptr,
                 const metrics::Trace& trace = {});

/// The first generation of a job of this process alone, and what it stands on: for programs without
/// actors. Errors: as find_resume_point, open_job, compile_job and build_generation.
Result<std::shared_ptr<Generation>> build_single_node_generation(const Config& config);

/// Gives the state of a generation whose ranks are all in this process back to its host, as that of
/// `step` steps: where ranks vote, with the statistics that all had after those, whatever was begun
/// since. Blocks. Nothing else may be enqueued meanwhile. Errors: of the streams.
Status return_state(const Generation& generation, std::int64_t step);

/// Whether a rank has all of the state by itself, in its device's memory.
bool is_whole(const RankState& rank_state);

/// The same where other nodes may be gone, and streams have failed: of the step that the ranks of
/// this node have come to, those that have come furthest. Where no rank has all of the state,
/// leaves what each has of it (Host::held). Blocks.
Status salvage_state(const Generation& generation);

} // namespace troupe::training
