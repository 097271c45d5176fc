/// What daemons tell each other, so that a job can begin and end on all of them.
#pragma once

#include "troupe/core/error.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe::actors {

/// A daemon that wants to take part.
struct NodeInfo {
  std::string address; ///< HOST:PORT where others reach it; what errors call it
  std::string host;    ///< its name
  std::string version; ///< of the program
  std::int32_t workers = 1;
  /// Key to value, as in a config file: what all nodes of a job must agree on.
  std::map<std::string, std::string> job;

  template <class Inspector>
  friend bool inspect(Inspector& f, NodeInfo& x) {
    return f.object(x).fields(f.field("address", x.address), f.field("host", x.host),
                              f.field("version", x.version), f.field("workers", x.workers),
                              f.field("job", x.job));
  }
};

/// Ranks [first_rank, first_rank + workers).
struct NodePlace {
  std::string address, host;
  std::int32_t first_rank = 0, workers = 1;

  template <class Inspector>
  friend bool inspect(Inspector& f, NodePlace& x) {
    return f.object(x).fields(f.field("address", x.address), f.field("host", x.host),
                              f.field("first_rank", x.first_rank), f.field("workers", x.workers));
  }
};

/// Who takes part in a job, from one change of membership to the next.
struct Generation {
  std::int64_t number = 1;
  std::vector<NodePlace> nodes; ///< in the order of their ranks; the first leads

  std::int32_t world_size() const { return nodes.back().first_rank + nodes.back().workers; }
  /// Of the node of a rank, in `nodes`. Precondition: 0 <= rank < world_size().
  std::size_t index_of(std::int32_t rank) const;
  const NodePlace& node_of(std::int32_t rank) const { return nodes[index_of(rank)]; }

  template <class Inspector>
  friend bool inspect(Inspector& f, Generation& x) {
    return f.object(x).fields(f.field("number", x.number), f.field("nodes", x.nodes));
  }
};

/// A node's part in a generation, or why it gets none.
struct Seat {
  std::optional<Error> refused;
  Generation generation = {};
  std::int32_t node = 0; ///< of generation.nodes
  /// Of the checkpoint that the job goes on from, as it travels (checkpoint_pieces.hpp); 0: the job
  /// begins afresh.
  std::int64_t checkpoint_bytes = 0;

  const NodePlace& place() const { return generation.nodes[static_cast<std::size_t>(node)]; }
  bool leads() const { return node == 0; }

  template <class Inspector>
  friend bool inspect(Inspector& f, Seat& x) {
    return f.object(x).fields(f.field("refused", x.refused), f.field("generation", x.generation),
                              f.field("node", x.node),
                              f.field("checkpoint_bytes", x.checkpoint_bytes));
  }
};

/// How a job ended, for the nodes that do not lead it.
struct JobEnd {
  std::string status; ///< completed, stopped, failed
  std::optional<Error> error;
  std::int64_t steps = 0, epochs = 0;
  double seconds = 0, samples_per_second = 0, loss = 0;
  std::optional<double> accuracy;
  std::string parameters_sha256;

  template <class Inspector>
  friend bool inspect(Inspector& f, JobEnd& x) {
    return f.object(x).fields(
        f.field("status", x.status), f.field("error", x.error), f.field("steps", x.steps),
        f.field("epochs", x.epochs), f.field("seconds", x.seconds),
        f.field("samples_per_second", x.samples_per_second), f.field("loss", x.loss),
        f.field("accuracy", x.accuracy), f.field("parameters_sha256", x.parameters_sha256));
  }
};

} // namespace troupe::actors
