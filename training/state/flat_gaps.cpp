#include "training/state/flat_gaps.hpp"

#include <algorithm>

namespace troupe::training {

std::vector<FlatGap> flat_gaps(const StorageLayout& layout, const collectives::FlatPlan& plan) {
  std::vector<FlatGap> gaps;
  auto slot = layout.parameters.begin();
  for (std::size_t unit = 0; unit < layout.unit_elements.size(); ++unit) {
    const auto begin = plan.unit_offsets[unit];
    std::size_t end = 0; // end of the previous parameter in the unit
    const auto skip_to = [&](std::size_t next) {
      if (next > end)
        gaps.push_back({begin + end, next - end});
    };
    for (; slot != layout.parameters.end() && slot->unit == static_cast<UnitId>(unit); ++slot) {
      skip_to(slot->offset);
      end = slot->offset + slot->elements;
    }
    skip_to(layout.unit_elements[unit]);
  }
  std::ranges::sort(gaps, {}, &FlatGap::first);
  return gaps;
}

std::vector<FlatGap> gaps_within(const std::vector<FlatGap>& gaps, std::size_t first,
                                 std::size_t elements) {
  std::vector<FlatGap> found;
  for (const auto& gap : gaps) {
    const auto begin = std::max(gap.first, first);
    const auto end = std::min(gap.first + gap.elements, first + elements);
    if (begin < end)
      found.push_back({begin - first, end - begin});
  }
  return found;
}

} // namespace troupe::training
