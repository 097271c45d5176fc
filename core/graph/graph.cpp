#include "core/graph/graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace troupe {

namespace {

std::string describe(const Graph& graph, const std::vector<TensorId>& ids) {
  std::vector<std::string> words;
  words.reserve(ids.size());
  for (const auto id : ids)
    words.push_back(fmt::format("{}:{}[{}]", graph[id].name, to_string(graph[id].dtype),
                                graph[id].shape.to_string()));
  return fmt::format("{}", fmt::join(words, ", "));
}

} // namespace

bool is_synchronized(const Node& node) {
  return (node.op == Op::batch_norm || node.op == Op::batch_norm_backward) &&
         std::get<BatchNormAttributes>(node.attributes).synchronized;
}

TensorId Graph::add_tensor(Tensor tensor) {
  tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(tensors.size() - 1);
}

Node& Graph::add_node(Node node) {
  return nodes.emplace_back(std::move(node));
}

std::optional<TensorId> Graph::find(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &Tensor::name);
  if (found == tensors.end())
    return std::nullopt;
  return static_cast<TensorId>(found - tensors.begin());
}

std::vector<TensorId> Graph::with_role(Role role) const {
  std::vector<TensorId> ids;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].role == role)
      ids.push_back(static_cast<TensorId>(i));
  return ids;
}

std::string Graph::to_string() const {
  std::string text;
  for (const auto& node : nodes)
    text += fmt::format(
        "{:<16} {} = {}({})\n", units.empty() ? "" : units[static_cast<std::size_t>(node.unit)],
        describe(*this, node.outputs), troupe::to_string(node.op), describe(*this, node.inputs));
  return text;
}

} // namespace troupe
