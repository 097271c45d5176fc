#include "app/graph_text.hpp"

#include "nn/shape_rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace troupe::app {

namespace {

constexpr std::size_t columns = 8;
using Cells = std::array<std::string, columns>;
using Json = nlohmann::ordered_json;

std::string_view phase_of(const Node& node) {
  return node.phase == Phase::forward ? "forward" : "backward";
}

const std::string& unit_of(const Graph& graph, const Node& node) {
  return graph.units[static_cast<std::size_t>(node.unit)];
}

/// "conv1.weight:f32>bf16[16x3x3x3]".
std::string describe_input(const Graph& graph, const Node& node, std::size_t input) {
  const auto& tensor = graph[node.inputs[input]];
  const auto read = nn::read_type(graph, node, input);
  const auto types = read == tensor.dtype
                         ? std::string{to_string(read)}
                         : fmt::format("{}>{}", to_string(tensor.dtype), to_string(read));
  return fmt::format("{}:{}[{}]", tensor.name, types, tensor.shape.to_string());
}

Cells cells_of(const Graph& graph, const Node& node) {
  const auto& y = graph[node.outputs[0]];
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    inputs.push_back(describe_input(graph, node, i));
  return {std::string{phase_of(node)},
          unit_of(graph, node),
          std::string{to_string(node.op)},
          y.name,
          std::string{to_string(nn::computed_type(graph, node))},
          std::string{to_string(y.dtype)},
          y.shape.to_string(),
          fmt::format("{}", fmt::join(inputs, ", "))};
}

Json describe(const Tensor& tensor) {
  return {{"name", tensor.name}, {"dtype", to_string(tensor.dtype)}, {"shape", tensor.shape.dims}};
}

} // namespace

std::string graph_table(const Graph& graph) {
  std::vector<Cells> rows = {{"PHASE", "UNIT", "OP", "NAME", "IN", "OUT", "SHAPE", "READS"}};
  for (const auto& node : graph.nodes)
    rows.push_back(cells_of(graph, node));
  std::array<std::size_t, columns> widths = {};
  for (const auto& row : rows)
    for (std::size_t i = 0; i < columns; ++i)
      widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i + 1 < columns; ++i)
      text += fmt::format("{:<{}}  ", row[i], widths[i]);
    text += row.back() + "\n";
  }
  return text;
}

std::string graph_json(const Graph& graph) {
  auto nodes = Json::array();
  for (const auto& node : graph.nodes) {
    auto inputs = Json::array(), outputs = Json::array();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      inputs.push_back(describe(graph[node.inputs[i]]));
      inputs.back()["read_as"] = to_string(nn::read_type(graph, node, i));
    }
    for (const auto id : node.outputs)
      outputs.push_back(describe(graph[id]));
    nodes.push_back({{"phase", phase_of(node)},
                     {"unit", unit_of(graph, node)},
                     {"op", to_string(node.op)},
                     {"name", graph[node.outputs[0]].name},
                     {"computes_in", to_string(nn::computed_type(graph, node))},
                     {"inputs", std::move(inputs)},
                     {"outputs", std::move(outputs)}});
  }
  return nodes.dump(2) + "\n";
}

} // namespace troupe::app
