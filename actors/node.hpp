/// NODE: spawns the roles of its host, watches over them, and takes what comes from outside.
#pragma once

#include "interfaces.hpp"
#include "job.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::actors {

class NodeState {
public:
  static inline const char* name = "node";

  /// `stopped` is called when somebody asks the node to stop.
  NodeState(node_actor::pointer self, std::shared_ptr<Job> job, metrics_actor metrics,
            std::function<void()> stopped);
  node_actor::behavior_type make_behavior();

private:
  void spawn_roles();
  void spawn_replica(const std::shared_ptr<Replica>& replica, const data_loader_actor& loader);
  template <class State, class Handle, caf::spawn_options Options = caf::no_spawn_options,
            class Setup>
  Handle spawn_role(std::string_view group, Setup setup);
  NodeStatus status() const;
  void stop();
  void role_down(const caf::down_msg& down);
  void end_roles();

  node_actor::pointer self_;
  std::shared_ptr<Job> job_;
  metrics_actor metrics_;
  std::function<void()> stopped_;
  coordinator_actor coordinator_;
  std::vector<caf::actor> roles_;
};

} // namespace troupe::actors
