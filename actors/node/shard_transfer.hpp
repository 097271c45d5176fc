/// Resumes from a state that no node has as a whole: each node reads the shards that its ranks lack
/// from other nodes, over the data plane, on demand.
#pragma once

#include "collectives/data_plane/connection_group.hpp"
#include "core/checkpoint/state_source.hpp"
#include "core/config/cluster.hpp"
#include "training/retained_state.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe::actors {

/// Serves this node's shards to nodes that lack them, during its lifetime. It must live until all
/// ranks of the generation are connected: a rank connects only after it has all its shards.
class ShardServer {
public:
  ShardServer(const std::shared_ptr<collectives::ConnectionGroup>& connection_group,
              const training::NodeAssignment& assignment,
              const std::shared_ptr<const training::RetainedState>& retained,
              const TimeoutsConfig& timeouts);
  ~ShardServer();
  ShardServer(const ShardServer&) = delete;
  ShardServer& operator=(const ShardServer&) = delete;

private:
  class Client;

  std::vector<std::unique_ptr<Client>> clients_;
};

/// Returns the state that this node resumes from: its own shards (`retained`; null: none), and the
/// others from the nodes in the generation's record. Blocks until these nodes have described their
/// shards; values are read on demand. Errors: network; corrupt.
Result<StateSourcePtr>
gather_shards(const std::shared_ptr<collectives::ConnectionGroup>& connection_group,
              const training::NodeAssignment& assignment,
              const std::shared_ptr<const training::RetainedState>& retained,
              const TimeoutsConfig& timeouts, const std::function<void(const std::string&)>& say);

} // namespace troupe::actors
