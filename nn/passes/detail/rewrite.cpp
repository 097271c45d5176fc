#include "nn/passes/detail/rewrite.hpp"

#include <algorithm>

namespace troupe::nn {

namespace {

/// Returns how often each tensor is an input, by TensorId.
std::vector<int> count_uses(const Graph& graph) {
  std::vector<int> uses(graph.tensors.size());
  for (const auto& node : graph.nodes)
    for (const auto id : node.inputs)
      ++uses[static_cast<std::size_t>(id)];
  return uses;
}

} // namespace

void drop_nodes(Graph& graph,
                const std::function<bool(const Node&, const std::vector<int>& uses)>& wanted) {
  auto uses = count_uses(graph);
  std::vector<Node> nodes;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node)
    if (wanted(*node, uses))
      nodes.push_back(std::move(*node));
    else
      for (const auto id : node->inputs)
        --uses[static_cast<std::size_t>(id)];
  std::ranges::reverse(nodes);
  graph.nodes = std::move(nodes);
}

Graph drop_unused_tensors(const Graph& graph) {
  auto used = count_uses(graph);
  for (const auto& node : graph.nodes)
    for (const auto id : node.outputs)
      ++used[static_cast<std::size_t>(id)];

  Graph kept;
  kept.units = graph.units;
  std::vector<TensorId> renamed(graph.tensors.size(), -1);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto role = graph.tensors[i].role;
    const bool droppable = role == Role::activation || role == Role::output;
    if (!droppable || used[i] > 0)
      renamed[i] = kept.add_tensor(graph.tensors[i]);
  }
  const auto rename = [&](TensorId& id) { id = renamed[static_cast<std::size_t>(id)]; };
  for (auto& tensor : kept.tensors)
    if (tensor.of >= 0)
      rename(tensor.of);
  for (auto node : graph.nodes) {
    for (auto& id : node.inputs)
      rename(id);
    for (auto& id : node.outputs)
      rename(id);
    kept.add_node(std::move(node));
  }
  return kept;
}

} // namespace troupe::nn
