/// Finds out why an actor on another node is lost: CAF reports only that the node is unreachable.
#pragma once

#include "actors/interfaces.hpp"

#include <chrono>
#include <set>
#include <string>

namespace troupe::actors {

class FailureDetector {
public:
  /// For actors that `self` watches. A node that is silent for `detection` counts as lost.
  FailureDetector(caf::scheduled_actor* self, std::chrono::milliseconds detection);

  /// Sends `self` a down_msg when the actor, or the connection to its node, is lost.
  template <class Actor>
  void watch(const Actor& actor) {
    self_->monitor(actor);
    watch_node(actor.node());
  }

  /// "it has been silent for 5s", "its connection was closed", or why the actor itself has ended.
  std::string why(const caf::node_id& node, const caf::error& reason) const;

  /// Whether the node was lost because it was silent.
  bool was_silent(const caf::node_id& node) const { return silent_.contains(node); }

private:
  void watch_node(const caf::node_id& node);

  caf::scheduled_actor* self_;
  std::chrono::milliseconds detection_;
  std::set<caf::node_id> silent_;
};

} // namespace troupe::actors
