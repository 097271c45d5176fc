#include "core/device/storage_layout.hpp"

#include <algorithm>

namespace troupe {

namespace {

Slot plain_slot(const Tensor& tensor, std::size_t offset) {
  return {.name = tensor.name,
          .shape = tensor.shape,
          .unit = tensor.unit,
          .offset = offset,
          .elements = static_cast<std::size_t>(tensor.shape.elements()),
          .codec = nullptr};
}

} // namespace

StorageLayout lay_out_storage(const Graph& graph, std::size_t alignment,
                              const StoreParameter& store) {
  const auto end_of = [alignment](const Slot& slot) {
    return (slot.offset + slot.elements + alignment - 1) / alignment * alignment;
  };
  StorageLayout layout;
  layout.unit_names = graph.units;
  layout.unit_elements.assign(graph.units.size(), 0);
  for (const auto id : graph.with_role(Role::parameter)) {
    auto& used = layout.unit_elements[static_cast<std::size_t>(graph[id].unit)];
    auto slot = plain_slot(graph[id], used);
    if (store)
      store(id, slot);
    used = end_of(slot);
    layout.parameters.push_back(std::move(slot));
  }
  std::ranges::stable_sort(layout.parameters, {}, &Slot::unit);
  for (const auto id : graph.with_role(Role::statistic)) {
    layout.statistics.push_back(plain_slot(graph[id], layout.statistic_elements));
    layout.statistic_elements = end_of(layout.statistics.back());
  }
  return layout;
}

} // namespace troupe
