/// How nodes go on from a state that they have only together: each reads from others, over the data
/// plane, what its ranks lack, as they ask for it.
#pragma once

#include "troupe/collectives/tcp/data_plane.hpp"
#include "troupe/core/checkpoint/state_source.hpp"
#include "troupe/core/config/cluster.hpp"
#include "troupe/engine/held_state.hpp"

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace troupe::actors {

/// Gives parts that this node holds to those that lack them, as long as it lives: until all ranks
/// of the generation are connected, which they are when they have what they need.
class PartsServer {
public:
  PartsServer(const std::shared_ptr<collectives::Meeting>& meeting, const engine::Seat& seat,
              const std::shared_ptr<const engine::HeldState>& held, const TimeoutsConfig& timeouts);
  ~PartsServer();
  PartsServer(const PartsServer&) = delete;
  PartsServer& operator=(const PartsServer&) = delete;

private:
  class Client;

  std::vector<std::unique_ptr<Client>> clients_;
};

/// What a node goes on from: what it holds itself (null: nothing), and the rest where the
/// generation's record says. Blocks until those nodes have said what they hold; values are read
/// when somebody asks for them. Errors: network; corrupt.
Result<StateSourcePtr> gather_parts(const std::shared_ptr<collectives::Meeting>& meeting,
                                    const engine::Seat& seat,
                                    const std::shared_ptr<const engine::HeldState>& held,
                                    const TimeoutsConfig& timeouts,
                                    const std::function<void(const std::string&)>& say);

} // namespace troupe::actors
