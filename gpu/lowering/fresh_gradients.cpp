#include "gpu/lowering/fresh_gradients.hpp"

#include "gpu/kernels/flat.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace troupe::gpu {

namespace {

class AddStep final : public Step {
public:
  explicit AddStep(std::vector<FreshGradient> gradients) : gradients_{std::move(gradients)} {
    name = fmt::format("add {} gradients", gradients_.size());
  }

  Status enqueue(const Launch& launch) override {
    if (!launch.sums)
      return {};
    const auto* const fresh = launch.frame.binding().gradients;
    std::vector<CastRange> ranges;
    ranges.reserve(gradients_.size());
    for (const auto& one : gradients_)
      ranges.push_back({fresh + one.offset, launch.sums + one.offset, one.elements});
    launch_add_ranges(launch.stream, ranges, DType::f32);
    return {};
  }

private:
  std::vector<FreshGradient> gradients_;
};

} // namespace

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

StepPtr add_gradients(std::vector<FreshGradient> gradients) {
  return gradients.empty() ? nullptr : std::make_unique<AddStep>(std::move(gradients));
}

} // namespace troupe::gpu
