#include "nn/validate.hpp"

#include "core/fail.hpp"
#include "nn/shape_rules.hpp"

#include <string_view>
#include <unordered_set>

namespace troupe::nn {

namespace {

/// Returns a text that identifies a node: "layer1.0.conv1 (conv2d, unit layer1.0)".
std::string describe(const Graph& graph, const Node& node) {
  const auto unit = static_cast<std::size_t>(node.unit);
  return fmt::format("{} ({}, unit {})",
                     node.outputs.empty() ? "a node" : graph[node.outputs[0]].name,
                     to_string(node.op),
                     unit < graph.units.size() ? graph.units[unit] : std::to_string(node.unit));
}

bool is_given(Role role) {
  return role == Role::input || role == Role::target || role == Role::parameter ||
         role == Role::statistic || role == Role::loss_scale;
}

bool belongs_to_a_unit(Role role) {
  return role == Role::parameter || role == Role::statistic || role == Role::gradient;
}

Status check_tensors(const Graph& graph) {
  std::unordered_set<std::string_view> names;
  for (const auto& tensor : graph.tensors) {
    if (tensor.name.empty() || !names.insert(tensor.name).second)
      return fail(Errc::internal, "two tensors have the name \"{}\"", tensor.name);
    if (tensor.unit < 0 || static_cast<std::size_t>(tensor.unit) >= graph.units.size())
      return fail(Errc::internal, "{} is in unit {}, of {}", tensor.name, tensor.unit,
                  graph.units.size());
    if (tensor.role == Role::gradient &&
        (tensor.of < 0 || static_cast<std::size_t>(tensor.of) >= graph.tensors.size() ||
         graph[tensor.of].role != Role::parameter || graph[tensor.of].shape != tensor.shape ||
         graph[tensor.of].unit != tensor.unit))
      return fail(Errc::internal, "{} is not the gradient of a parameter", tensor.name);
  }
  return {};
}

Status check_ids(const Graph& graph, const std::vector<TensorId>& ids) {
  for (const auto id : ids)
    if (id < 0 || static_cast<std::size_t>(id) >= graph.tensors.size())
      return fail(Errc::internal, "there is no tensor {}", id);
  return {};
}

Status check_order(const Graph& graph, const Node& node, const Node* before) {
  if (!before)
    return {};
  if (before->phase == Phase::backward && node.phase == Phase::forward)
    return fail(Errc::internal, "{}: forward after backward", describe(graph, node));
  const bool same_phase = before->phase == node.phase;
  const bool ascends = node.unit > before->unit, descends = node.unit < before->unit;
  if (same_phase && (node.phase == Phase::forward ? descends : ascends))
    return fail(Errc::internal, "{}: its unit is already complete", describe(graph, node));
  return {};
}

Status check_reads(const Graph& graph, const Node& node, const std::vector<bool>& written) {
  for (const auto id : node.inputs) {
    if (!is_given(graph[id].role) && !written[static_cast<std::size_t>(id)])
      return fail(Errc::internal, "{} reads {} before it is written", describe(graph, node),
                  graph[id].name);
    if (belongs_to_a_unit(graph[id].role) && graph[id].unit != node.unit)
      return fail(Errc::internal, "{} uses {} of another unit", describe(graph, node),
                  graph[id].name);
  }
  return {};
}

Status check_writes(const Graph& graph, const Node& node, std::vector<bool>& written) {
  for (const auto id : node.outputs) {
    if (is_given(graph[id].role) || written[static_cast<std::size_t>(id)])
      return fail(Errc::internal, "{} writes {} again", describe(graph, node), graph[id].name);
    if (belongs_to_a_unit(graph[id].role) && graph[id].unit != node.unit)
      return fail(Errc::internal, "{} writes {} of another unit", describe(graph, node),
                  graph[id].name);
    written[static_cast<std::size_t>(id)] = true;
  }
  return {};
}

} // namespace

Status validate(const Graph& graph) {
  TROUPE_TRY(check_tensors(graph));
  std::vector<bool> written(graph.tensors.size());
  const Node* before = nullptr;
  for (const auto& node : graph.nodes) {
    TROUPE_TRY(check_ids(graph, node.inputs));
    TROUPE_TRY(check_ids(graph, node.outputs));
    TROUPE_TRY(check_order(graph, node, before));
    TROUPE_TRY(check_reads(graph, node, written));
    TROUPE_TRY(check_writes(graph, node, written));
    if (const auto fits = check_node(graph, node); !fits)
      return fail(fits.error().code, "{}: {}", describe(graph, node), fits.error().message);
    before = &node;
  }
  return {};
}

} // namespace troupe::nn
