/// Who takes part in a job, and a node's place in it. Both cross process borders: `inspect` is for
/// whoever writes them into messages.
#pragma once

#include "core/error.hpp"
#include "training/job_end.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::training {

/// A daemon that has a vote in who takes part. One that is started again is another: it knows
/// nothing of what the one before has promised.
struct Voter {
  std::string address, process;

  bool operator==(const Voter&) const = default;

  template <class Inspector>
  friend bool inspect(Inspector& f, Voter& x) {
    return f.object(x).fields(f.field("address", x.address), f.field("process", x.process));
  }
};

/// Which samples a job trains on: the same on all of its nodes.
struct TrainingData {
  std::string fingerprint; ///< of the training set; empty: unknown (a witness has no data)
  std::int64_t samples = 0;

  bool operator==(const TrainingData&) const = default;

  template <class Inspector>
  friend bool inspect(Inspector& f, TrainingData& x) {
    return f.object(x).fields(f.field("fingerprint", x.fingerprint), f.field("samples", x.samples));
  }
};

/// What a node has of a state that a generation had divided.
struct RetainedShards {
  std::int64_t step = -1; ///< the state is that after so many steps
  bool applied = true;    ///< by a rank; else all that the last step needs was there
  std::int32_t shards = 0;
  std::vector<std::int32_t> retained; ///< which of these

  template <class Inspector>
  friend bool inspect(Inspector& f, RetainedShards& x) {
    return f.object(x).fields(f.field("step", x.step), f.field("applied", x.applied),
                              f.field("shards", x.shards), f.field("held", x.retained));
  }
};

/// Ranks [first_rank, first_rank + workers).
struct MemberInfo {
  std::string address, host;
  std::string data; ///< HOST:PORT where other nodes' ranks connect (collectives/tcp/data_plane.hpp)
  std::int32_t first_rank = 0, workers = 1;
  bool lacks_state = false;                ///< and gets it from GenerationRecord::source
  std::vector<std::int32_t> retained = {}; ///< of GenerationRecord::shards
  std::string process = {};                ///< no other daemon has it

  template <class Inspector>
  friend bool inspect(Inspector& f, MemberInfo& x) {
    return f.object(x).fields(f.field("address", x.address), f.field("host", x.host),
                              f.field("data", x.data), f.field("first_rank", x.first_rank),
                              f.field("workers", x.workers), f.field("lacks_state", x.lacks_state),
                              f.field("held", x.retained), f.field("process", x.process));
  }
};

/// Why a generation is not the one before.
struct MembershipChange {
  std::string reason = {};
  bool is_loss = false; ///< of a node; else one has come
  // Seconds.
  double detect = 0; ///< in which a node that is lost said nothing before it was taken for lost
  double halt = 0;   ///< from then on, until all have come together again

  template <class Inspector>
  friend bool inspect(Inspector& f, MembershipChange& x) {
    return f.object(x).fields(f.field("reason", x.reason), f.field("is_loss", x.is_loss),
                              f.field("detect", x.detect), f.field("halt", x.halt));
  }
};

/// Who takes part in a job, from one change of membership to the next. Its revisions differ in
/// their voters and spares only, and nobody halts for them.
struct GenerationRecord {
  std::int64_t number = 1;       ///< above all that any of the nodes has had before
  std::vector<MemberInfo> nodes; ///< in the order of their ranks; the first leads
  std::string secret = {};       ///< without which nobody connects to their ranks
  std::int64_t slices = 1;       ///< of a global batch, from the first generation on
  std::int64_t step = 0;         ///< its first
  std::int32_t source = 0;       ///< of `nodes`: the state that it goes on from is there
  /// That the state it goes on from is divided into, each at the nodes that hold it; 0: it is not
  /// divided, and at its source.
  std::int32_t shards = 0;
  MembershipChange change = {};         ///< not of the first
  std::string job = {};                 ///< tells one from the next, where daemons outlive them
  std::string writer = {};              ///< of the run's files: another one with each leader
  std::vector<Voter> voters = {};       ///< decide on the next; the first is the leader's
  std::vector<std::string> spares = {}; ///< addresses of nodes that wait for a place
  TrainingData training = {};           ///< from the first generation on
  std::int32_t revision = 0;
  std::optional<JobEnd> end = {}; ///< of the job: nothing follows

  /// Later records of a job are greater.
  std::pair<std::int64_t, std::int32_t> order() const { return {number, revision}; }
  /// Whether the job begins with it: none was before.
  bool is_first() const { return change.reason.empty(); }
  const std::string& leader() const { return nodes.front().address; }
  std::int32_t world_size() const { return nodes.back().first_rank + nodes.back().workers; }
  /// The index in `nodes` of the node of a rank. Precondition: 0 <= rank < world_size().
  std::size_t index_of(std::int32_t rank) const;
  const MemberInfo& node_of(std::int32_t rank) const { return nodes[index_of(rank)]; }
  /// How many nodes get the state from the source.
  std::ptrdiff_t lacking() const;
  /// Where a node finds a shard: its own, or one of those who hold it, not all the same one.
  /// Precondition: some node does.
  std::size_t holder_of(std::int32_t shard, std::size_t node) const;

  template <class Inspector>
  friend bool inspect(Inspector& f, GenerationRecord& x) {
    return f.object(x).fields(
        f.field("number", x.number), f.field("nodes", x.nodes), f.field("secret", x.secret),
        f.field("slices", x.slices), f.field("step", x.step), f.field("source", x.source),
        f.field("shards", x.shards), f.field("change", x.change), f.field("job", x.job),
        f.field("writer", x.writer), f.field("voters", x.voters), f.field("spares", x.spares),
        f.field("training", x.training), f.field("revision", x.revision), f.field("end", x.end));
  }
};

/// The folder of checkpoints, where all nodes write to it (checkpoint.state: sharded).
struct SharedFolder {
  std::string probe;      ///< a file that the leader has put there; empty: nothing is shared
  std::string checkpoint; ///< that the job goes on from: a name there, or a path; empty: afresh

  template <class Inspector>
  friend bool inspect(Inspector& f, SharedFolder& x) {
    return f.object(x).fields(f.field("probe", x.probe), f.field("checkpoint", x.checkpoint));
  }
};

/// A node's part in a generation, or why it gets none.
struct NodeAssignment {
  std::optional<Error> refused;
  GenerationRecord generation = {};
  std::int32_t node = 0; ///< of generation.nodes
  SharedFolder shared = {};
  /// Refused because others could not reach this node, or it them: it may ask again later.
  bool left_out = false;

  const MemberInfo& member() const { return generation.nodes[static_cast<std::size_t>(node)]; }
  bool leads() const { return node == 0; }
  bool is_source() const { return node == generation.source; }

  template <class Inspector>
  friend bool inspect(Inspector& f, NodeAssignment& x) {
    return f.object(x).fields(f.field("refused", x.refused), f.field("generation", x.generation),
                              f.field("node", x.node), f.field("shared", x.shared),
                              f.field("left_out", x.left_out));
  }
};

/// All ranks of a job are on this node.
NodeAssignment single_node_assignment(std::int32_t workers, const std::string& host);

} // namespace troupe::training
