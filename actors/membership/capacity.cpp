#include "actors/membership/capacity.hpp"

#include <fmt/format.h>

namespace troupe::actors {

/// Explains why no further node can take part in addition to these; empty: one can.
std::string Capacity::lacks_node(const std::vector<NodeInfo>& nodes) const {
  if (std::ssize(nodes) < job_.rules.max_nodes)
    return {};
  const bool one = nodes.size() == 1;
  return fmt::format("there {} {} node{} already, and cluster.max_nodes is {}", one ? "is" : "are",
                     nodes.size(), one ? "" : "s", job_.rules.max_nodes);
}

/// Explains why a node with this many workers cannot take part in addition to these; empty: it can.
std::string Capacity::lacks_room(const std::vector<NodeInfo>& nodes, std::int32_t workers) const {
  if (auto lacks = lacks_node(nodes); !lacks.empty())
    return lacks;
  const auto slices = job_.generation->slices;
  if (const auto there = total_workers(nodes); there + workers > slices)
    return fmt::format("there {} {} worker{} already, and {} more would exceed the {} slice{} of a "
                       "global batch (data.slices)",
                       there == 1 ? "is" : "are", there, there == 1 ? "" : "s", workers, slices,
                       slices == 1 ? "" : "s");
  return {};
}

std::string Capacity::lacks_place(std::int32_t workers) const {
  if (!job_.has_begun())
    return lacks_node(members_.nodes());
  if (auto lacks = lacks_room(members_.nodes(), workers); !lacks.empty())
    return lacks;
  const auto& [group, key] = job_.rules.groups;
  if (group == 1)
    return {};
  auto nodes = members_.nodes();
  const auto before = count_trainers(workers_of(with_spares(nodes)), group);
  nodes.push_back({.workers = workers});
  if (count_trainers(workers_of(with_spares(std::move(nodes))), group) > before)
    return {};
  return fmt::format("workers train in groups of {} ({}), and no further group is complete", group,
                     key);
}

/// Returns these nodes, and the spares for which there is room.
std::vector<NodeInfo> Capacity::with_spares(std::vector<NodeInfo> nodes) const {
  for (const auto& spare : spares_)
    if (job_.has_begun() && lacks_room(nodes, spare.workers).empty())
      nodes.push_back(spare);
  return nodes;
}

std::set<std::string> Capacity::choose() const {
  const auto nodes = MemberList::by_need(candidates());
  const auto trains = choose_trainers(workers_of(nodes), job_.rules.groups.size);
  std::set<std::string> chosen;
  for (std::size_t i = 0; i < trains.size(); ++i)
    if (trains[i])
      chosen.insert(nodes[i].address);
  return chosen;
}

bool Capacity::has_enough() const {
  return std::ssize(candidates()) >= job_.rules.min_nodes && !choose().empty();
}

std::string Capacity::lacks_group() const {
  const auto here = total_workers(candidates());
  return fmt::format("workers train in groups of {} ({}), and {} {} present",
                     job_.rules.groups.size, job_.rules.groups.key, here, here == 1 ? "is" : "are");
}

std::string Capacity::waiting_for() const {
  const bool lacks_workers = members_.absent().empty() &&
                             std::ssize(candidates()) >= job_.rules.min_nodes && !has_enough();
  return lacks_workers ? "waiting for more nodes: " + lacks_group() : members_.waiting_for();
}

} // namespace troupe::actors
