/// Finds out why an actor on another node is lost: CAF reports only that the node is unreachable.
#pragma once

#include "actors/interfaces.hpp"
#include "core/units.hpp"

#include <chrono>
#include <set>
#include <string>

namespace troupe::actors {

class FailureDetector {
public:
  /// For actors that `self` watches. A node that is silent for `detection` counts as lost.
  FailureDetector(caf::scheduled_actor* self, std::chrono::milliseconds detection)
      : self_{self}, detection_{detection} {
    // This comes before the down_msg of any actor on the node.
    self_->set_node_down_handler([this](const caf::node_down_msg& down) {
      if (down.reason == caf::sec::connection_timeout)
        silent_.insert(down.node);
    });
  }

  /// Sends `self` a down_msg when the actor, or the connection to its node, is lost.
  template <class Actor>
  void watch(const Actor& actor) {
    self_->monitor(actor);
    const auto node = actor.node();
    silent_.erase(node); // it may have connected again
    if (node != self_->node())
      self_->monitor(node);
  }

  /// "it has been silent for 5s", "its connection was closed", or why the actor itself has ended.
  std::string why(const caf::node_id& node, const caf::error& reason) const {
    if (reason != caf::exit_reason::remote_link_unreachable)
      return caf::to_string(reason);
    return was_silent(node) ? "it has been silent for " + format_duration(detection_)
                            : "its connection was closed";
  }

  /// Whether the node was lost because it was silent.
  bool was_silent(const caf::node_id& node) const { return silent_.contains(node); }

private:
  caf::scheduled_actor* self_;
  std::chrono::milliseconds detection_;
  std::set<caf::node_id> silent_;
};

} // namespace troupe::actors
