#include "cpu/interpreter/detail/storage.hpp"

#include "core/device/storage_layout.hpp"
#include "core/fail.hpp"

#include <unordered_map>

namespace troupe::cpu {

StorageLayout canonical_layout(const Graph& graph) {
  return lay_out_storage(graph, 1);
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
      return fail(Errc::internal, "the storage layout has no tensor {} of the shape {}",
                  tensor.name, tensor.shape.to_string());
    found[i] = slot->second;
  }
  return found;
}

} // namespace troupe::cpu
