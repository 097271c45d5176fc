#include "training/node_assignment.hpp"

#include <algorithm>

namespace troupe::training {

std::size_t GenerationRecord::index_of(std::int32_t rank) const {
  const auto node = std::ranges::find_if(
      nodes, [rank](const MemberInfo& place) { return rank < place.first_rank + place.workers; });
  return static_cast<std::size_t>(node - nodes.begin());
}

std::ptrdiff_t GenerationRecord::lacking() const {
  return std::ranges::count(nodes, true, &MemberInfo::lacks_state);
}

std::size_t GenerationRecord::holder_of(std::int32_t shard, std::size_t node) const {
  const auto holds = [&](std::size_t i) {
    return std::ranges::count(nodes[i].retained, shard) > 0;
  };
  if (holds(node))
    return node;
  std::vector<std::size_t> holders;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (holds(i))
      holders.push_back(i);
  return holders[(node + static_cast<std::size_t>(shard)) % holders.size()];
}

NodeAssignment single_node_assignment(std::int32_t workers, const std::string& host) {
  const MemberInfo here{.address = {}, .host = host, .first_rank = 0, .workers = workers};
  return {.refused = {}, .generation = {.number = 1, .nodes = {here}}};
}

} // namespace troupe::training
