/// The parts of NODE share its configuration, its identity, and the actors that it knows.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/node/waits.hpp"
#include "collectives/data_plane/data_plane.hpp"
#include "core/config/cluster.hpp"
#include "metrics/trace.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::actors {

struct NodeSetup {
  std::string run;                    ///< name of the run
  std::vector<std::string> join = {}; ///< cluster.join
  TimeoutsConfig timeouts = {};       ///< cluster.timeouts
  std::shared_ptr<Waits> waits = std::make_shared<Waits>();
  std::function<void(const std::string&)> say = [](const auto&) {}; ///< logs for a person
  std::string metrics = {};      ///< HOST:PORT of its /metrics; empty: off
  bool ends_for_all = false;     ///< a launcher started it with the others, and asks all to end
  std::function<void()> stopped; ///< called when the node is asked to stop
  /// Runs a task on a thread that may block.
  std::function<void(std::function<void()>)> run_blocking = [](const auto& task) { task(); };
  /// Connects ranks to those of other nodes; null: a single node.
  std::shared_ptr<collectives::DataPlane> data_plane = nullptr;
  metrics::Track row = {}; ///< of the actor in the timeline
};

struct NodeContext {
  node_actor::pointer self;
  NodeSetup setup;
  training::Voter identity = {};
  consensus_actor consensus = {};     ///< null: a single node
  membership_actor membership = {};   ///< null: it has no job, or has lost its leader
  std::string leader = {};            ///< address of the leader
  coordinator_actor coordinator = {}; ///< stays after the end of the job, for its status
  /// Set if this node has led and leaves the others: why.
  std::optional<Error> hands_over = {};

  bool leads() const { return leader == identity.address; }
  member_actor member() const { return member_actor{node_actor{self}}; }
  /// The wait that `troupe status` shows.
  WaitStatus wait() const { return setup.waits->shown(self->clock().now()); }
};

/// Why a node leaves that was asked to.
inline Error handed_over() {
  return {Errc::stopped, "this node has left the job, and another node leads it"};
}

} // namespace troupe::actors
