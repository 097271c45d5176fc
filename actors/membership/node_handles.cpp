#include "actors/membership/node_handles.hpp"

namespace troupe::actors {

NodeId NodeHandles::add(const member_actor& node) {
  const NodeId id{++last_};
  nodes_.emplace(id, node);
  return id;
}

NodeId NodeHandles::id_of(const member_actor& node) const {
  return node ? id_of(node.address()) : NodeId{};
}

NodeId NodeHandles::id_of(const caf::actor_addr& node) const {
  for (const auto& [id, handle] : nodes_)
    if (handle.address() == node)
      return id;
  return {};
}

member_actor NodeHandles::find(NodeId node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? member_actor{} : found->second;
}

std::vector<member_actor> NodeHandles::keep(const std::function<bool(NodeId)>& is_known) {
  std::vector<member_actor> removed;
  std::erase_if(nodes_, [&](const auto& node) {
    if (!is_known(node.first))
      removed.push_back(node.second);
    return !is_known(node.first);
  });
  return removed;
}

} // namespace troupe::actors
