/// The members of a job, and one node's assignment. Both cross process borders: messages serialize
/// their `fields` (actors/inspect.hpp).
#pragma once

#include "core/error.hpp"
#include "metrics/records/run.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace troupe::training {

/// How a job ended: sent by the leader to the other nodes, and part of the last generation record
/// that the voters decide on.
struct JobEnd {
  metrics::RunResult result;
  std::optional<Error> error = {};
  bool for_all = true; ///< false: only the receiving node leaves the job

  auto fields() {
    return std::tie(result.status, error, for_all, result.steps, result.epochs, result.seconds,
                    result.samples_per_second, result.mfu, result.loss, result.test_loss,
                    result.accuracy, result.parameters_sha256);
  }
};

inline JobEnd failed_end(Error error) {
  return {.result = {.status = "failed"}, .error = std::move(error)};
}

/// A daemon with a vote on the membership. A restarted daemon is another voter, because it does not
/// know the promises of its predecessor.
struct Voter {
  std::string address, process;

  bool operator==(const Voter&) const = default;

  auto fields() { return std::tie(address, process); }
};

/// Identity of the training samples: the same on all nodes of a job.
struct TrainingData {
  std::string fingerprint; ///< of the training set; empty: unknown (a witness has no data)
  std::int64_t samples = 0;

  bool operator==(const TrainingData&) const = default;

  auto fields() { return std::tie(fingerprint, samples); }
};

/// Shards that a node retains of a sharded state of an earlier generation.
struct RetainedShards {
  std::int64_t step = -1; ///< the state is the one after this many steps
  bool applied = true;    ///< a rank applied this step; false: it was prepared, then rolled forward
  std::int32_t shards = 0;
  std::vector<std::int32_t> retained; ///< which of them this node has

  auto fields() { return std::tie(step, applied, shards, retained); }
};

/// One node of a generation. Its ranks are [first_rank, first_rank + workers).
struct MemberInfo {
  std::string address, host;
  std::string data; ///< HOST:PORT for other nodes' ranks (collectives/data_plane/data_plane.hpp)
  std::int32_t first_rank = 0, workers = 1;
  bool lacks_state = false;                ///< loads the state from GenerationRecord::source
  std::vector<std::int32_t> retained = {}; ///< of GenerationRecord::shards
  std::string process = {};                ///< unique to each daemon

  auto fields() {
    return std::tie(address, host, data, first_rank, workers, lacks_state, retained, process);
  }
};

/// Why a generation replaced the previous one.
struct MembershipChange {
  std::string reason = {};
  bool is_loss = false; ///< a node was lost; false: a node joined
  // Seconds.
  double detect = 0; ///< silence of the lost node until it was declared lost
  double halt = 0;   ///< from then until all nodes were connected again

  auto fields() { return std::tie(reason, is_loss, detect, halt); }
};

/// The membership of a job between two changes. Revisions of a record differ only in voters and
/// spares, and take effect without pausing training.
struct GenerationRecord {
  std::int64_t number = 1;       ///< above every number that any of the nodes has had before
  std::vector<MemberInfo> nodes; ///< in rank order; the first leads
  std::string secret = {};       ///< required to connect to the ranks
  std::int64_t slices = 1;       ///< of a global batch; constant since the first generation
  std::int64_t step = 0;         ///< first step of the generation
  std::int32_t source = 0;       ///< index in `nodes` of the node with the initial state
  /// Number of shards that the initial state is divided into, each at the nodes that retain it. 0:
  /// the state is whole, at the source.
  std::int32_t shards = 0;
  MembershipChange change = {};         ///< empty in the first generation
  std::string job = {};                 ///< distinguishes jobs of long-lived daemons
  std::string writer = {};              ///< writer of the run's files: changes with each leader
  std::vector<Voter> voters = {};       ///< decide on the next record; the first is the leader
  std::vector<std::string> spares = {}; ///< addresses of nodes that wait for an assignment
  TrainingData training = {};           ///< constant since the first generation
  std::int32_t revision = 0;
  std::optional<JobEnd> end = {}; ///< of the job: no record follows

  /// Order of a job's records: later records are greater.
  std::pair<std::int64_t, std::int32_t> order() const { return {number, revision}; }
  /// Whether this is the job's first generation.
  bool is_first() const { return change.reason.empty(); }
  const std::string& leader() const { return nodes.front().address; }
  std::int32_t world_size() const { return nodes.back().first_rank + nodes.back().workers; }
  /// Whether the generation has this rank. Messages of other nodes may be damaged.
  bool has(std::int32_t rank) const { return rank >= 0 && rank < world_size(); }
  /// Returns the index in `nodes` of a rank's node. Precondition: has(rank).
  std::size_t index_of(std::int32_t rank) const;
  const MemberInfo& node_of(std::int32_t rank) const { return nodes[index_of(rank)]; }
  /// Returns the number of nodes that load the state from the source.
  std::ptrdiff_t lacking() const;
  /// Returns the node from which `node` gets a shard: itself if it retains the shard, else one of
  /// the holders, chosen to spread the load. Precondition: some node retains the shard.
  std::size_t holder_of(std::int32_t shard, std::size_t node) const;

  auto fields() {
    return std::tie(number, nodes, secret, slices, step, source, shards, change, job, writer,
                    voters, spares, training, revision, end);
  }
};

/// The checkpoint folder that all nodes write to (checkpoint.state: sharded).
struct SharedFolder {
  std::string probe;      ///< file that the leader put there; empty: no folder is shared
  std::string checkpoint; ///< to resume from: a name in the folder, or a path; empty: a new run

  auto fields() { return std::tie(probe, checkpoint); }
};

/// A node's part in a generation, or the reason for a refusal.
struct NodeAssignment {
  std::optional<Error> refused;
  GenerationRecord generation = {};
  std::int32_t node = 0; ///< index in generation.nodes
  SharedFolder shared = {};
  /// Refused because this node and others could not reach each other: it may ask again later.
  bool left_out = false;

  const MemberInfo& member() const { return generation.nodes[static_cast<std::size_t>(node)]; }
  bool leads() const { return node == 0; }
  bool is_source() const { return node == generation.source; }

  auto fields() { return std::tie(refused, generation, node, shared, left_out); }
};

/// Returns the assignment of a node that has all ranks of the job.
NodeAssignment single_node_assignment(std::int32_t workers, const std::string& host);

} // namespace troupe::training
