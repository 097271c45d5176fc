/// The handles of the nodes that Membership knows.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/membership/actions.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace troupe::actors {

class NodeHandles {
public:
  /// Adds a node with a new id. Precondition: it is unknown.
  NodeId add(const member_actor& node);
  /// Returns 0 if the node is unknown.
  NodeId id_of(const member_actor& node) const;
  NodeId id_of(const caf::actor_addr& node) const;
  /// Returns null if the node is unknown.
  member_actor find(NodeId node) const;
  void remove(NodeId node) { nodes_.erase(node); }
  /// Removes the other nodes, and returns them.
  std::vector<member_actor> keep(const std::function<bool(NodeId)>& is_known);

private:
  std::map<NodeId, member_actor> nodes_;
  std::int64_t last_ = 0;
};

} // namespace troupe::actors
