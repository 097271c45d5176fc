#include "training/state/flat_range.hpp"

#include <algorithm>

namespace troupe::training {

FlatRange FlatRange::overlap(const FlatRange& other) const {
  const auto from = std::max(first, other.first), to = std::min(end(), other.end());
  return {from, to > from ? to - from : 0};
}

std::vector<FlatRange> flat_gaps(const StorageLayout& layout, const FlatPlan& plan) {
  std::vector<FlatRange> gaps;
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
  std::ranges::sort(gaps, {}, &FlatRange::first);
  return gaps;
}

std::vector<FlatRange> gaps_within(const std::vector<FlatRange>& gaps, const FlatRange& range) {
  std::vector<FlatRange> found;
  for (const auto& gap : gaps)
    if (const auto inside = gap.overlap(range); inside.elements > 0)
      found.push_back({inside.first - range.first, inside.elements});
  return found;
}

} // namespace troupe::training
