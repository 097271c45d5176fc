#include "actors/roles/detail/node_records.hpp"

#include <algorithm>

namespace troupe::actors {

const std::string& label_of(const NodeStatus& node, const std::vector<NodeStatus>& nodes) {
  return std::ranges::count(nodes, node.name, &NodeStatus::name) == 1 ? node.name : node.address;
}

std::vector<metrics::NodeRecord> records_of(const std::vector<NodeStatus>& nodes) {
  std::vector<metrics::NodeRecord> records;
  records.reserve(nodes.size());
  for (const auto& node : nodes)
    records.push_back({.name = label_of(node, nodes),
                       .address = node.address,
                       .page = node.metrics,
                       .state = node.state,
                       .version = node.version,
                       .ranks = node.ranks,
                       .devices = node.devices,
                       .leads = records.empty()});
  return records;
}

std::vector<metrics::ScrapeTarget> targets_of(const std::vector<NodeStatus>& nodes) {
  std::vector<metrics::ScrapeTarget> targets;
  for (const auto& node : nodes)
    if (!node.metrics.empty())
      targets.push_back({node.metrics, {{"node", label_of(node, nodes)}}});
  return targets;
}

} // namespace troupe::actors
