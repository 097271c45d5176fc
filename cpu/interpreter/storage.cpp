#include "storage.hpp"

#include "troupe/core/fail.hpp"

#include <algorithm>
#include <unordered_map>

namespace troupe::cpu {

StorageLayout canonical_layout(const Graph& graph) {
  StorageLayout layout;
  layout.unit_names = graph.units;
  layout.unit_elements.resize(graph.units.size());
  auto parameters = graph.with_role(Role::parameter);
  std::ranges::stable_sort(parameters, {}, [&](TensorId id) { return graph[id].unit; });
  for (const auto id : parameters) {
    const auto& tensor = graph[id];
    const auto elements = static_cast<std::size_t>(tensor.shape.elements());
    auto& end = layout.unit_elements[static_cast<std::size_t>(tensor.unit)];
    layout.parameters.push_back({tensor.name, tensor.shape, tensor.unit, end, elements, nullptr});
    end += elements;
  }
  for (const auto id : graph.with_role(Role::statistic)) {
    const auto& tensor = graph[id];
    const auto elements = static_cast<std::size_t>(tensor.shape.elements());
    layout.statistics.push_back(
        {tensor.name, tensor.shape, tensor.unit, layout.statistic_elements, elements, nullptr});
    layout.statistic_elements += elements;
  }
  return layout;
}

Result<std::vector<const Slot*>> find_slots(const StorageLayout& layout, const Graph& graph) {
  std::unordered_map<std::string_view, const Slot*> by_name;
  for (const auto* slots : {&layout.parameters, &layout.statistics})
    for (const auto& slot : *slots)
      by_name[slot.name] = &slot;

  std::vector<const Slot*> found(graph.tensors.size());
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto role = graph.tensors[i].role;
    if (role != Role::parameter && role != Role::statistic && role != Role::gradient)
      continue;
    const auto& tensor = role == Role::gradient ? graph[graph.tensors[i].of] : graph.tensors[i];
    const auto slot = by_name.find(tensor.name);
    if (slot == by_name.end() || slot->second->shape != tensor.shape ||
        slot->second->unit != tensor.unit)
      return fail(Errc::internal, "the storage layout has no {} of {}", tensor.name,
                  tensor.shape.to_string());
    found[i] = slot->second;
  }
  return found;
}

} // namespace troupe::cpu
