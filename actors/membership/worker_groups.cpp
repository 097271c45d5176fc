#include "actors/membership/worker_groups.hpp"

#include <numeric>
#include <optional>

namespace troupe::actors {

namespace {

/// Nodes that do not train.
struct LeftOut {
  std::int64_t workers = 0;
  std::vector<std::size_t> nodes;
};

/// For each remainder modulo the size of a group, the choice that leaves out the fewest workers.
using Choices = std::vector<std::optional<LeftOut>>;

/// Adds the choices that also leave out this node.
void add_node(Choices& choices, std::size_t node, std::int64_t workers) {
  const auto before = choices;
  for (const auto& choice : before) {
    if (!choice)
      continue;
    auto more = *choice;
    more.workers += workers;
    more.nodes.push_back(node);
    auto& known = choices[static_cast<std::size_t>(more.workers) % choices.size()];
    if (!known || more.workers < known->workers)
      known = std::move(more);
  }
}

} // namespace

std::vector<bool> choose_trainers(std::span<const std::int32_t> workers, std::int64_t group) {
  Choices choices(static_cast<std::size_t>(group));
  choices.front() = LeftOut{};
  for (auto node = workers.size(); node-- > 1;) // the leader always trains
    add_node(choices, node, workers[node]);
  const auto all = std::accumulate(workers.begin(), workers.end(), std::int64_t{0});
  const auto& waits = choices[static_cast<std::size_t>(all % group)];
  if (!waits)
    return {};
  std::vector<bool> trains(workers.size(), true);
  for (const auto node : waits->nodes)
    trains[node] = false;
  return trains;
}

std::int64_t count_trainers(std::span<const std::int32_t> workers, std::int64_t group) {
  const auto trains = choose_trainers(workers, group);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < trains.size(); ++i)
    count += trains[i] ? workers[i] : 0;
  return count;
}

std::vector<std::int32_t> workers_of(const std::vector<NodeInfo>& nodes) {
  std::vector<std::int32_t> workers;
  for (const auto& node : nodes)
    workers.push_back(node.workers);
  return workers;
}

std::int64_t total_workers(const std::vector<NodeInfo>& nodes) {
  const auto workers = workers_of(nodes);
  return std::accumulate(workers.begin(), workers.end(), std::int64_t{0});
}

} // namespace troupe::actors
