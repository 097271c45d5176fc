#include "gpu/lowering/fresh_gradients.hpp"

#include "gpu/kernels/flat.hpp"

#include <algorithm>

namespace troupe::gpu {

std::vector<std::vector<FreshGradient>> fresh_gradients(const Lowering& lowering) {
  const auto& graph = lowering.graph;
  std::vector<std::vector<FreshGradient>> fresh(graph.units.size());
  for (const auto id : graph.with_role(Role::gradient)) {
    if (lowering.summed.contains(id))
      continue;
    const auto unit = graph[graph[id].of].unit;
    const auto offset =
        lowering.placement.places[static_cast<std::size_t>(id)].offset / sizeof(float);
    const auto slot = std::ranges::find_if(lowering.layout.parameters, [&](const Slot& one) {
      return one.unit == unit && one.offset == offset;
    });
    fresh[static_cast<std::size_t>(unit)].push_back({offset, slot->elements});
  }
  return fresh;
}

void launch_add_fresh(cudaStream_t stream, const std::vector<FreshGradient>& gradients,
                      const float* fresh, float* sums) {
  std::vector<CastRange> ranges;
  ranges.reserve(gradients.size());
  for (const auto& one : gradients)
    ranges.push_back({fresh + one.offset, sums + one.offset, one.elements});
  launch_add_ranges(stream, ranges, DType::f32);
}

} // namespace troupe::gpu
