#include "collectives/fragments.hpp"

#include <algorithm>
#include <numeric>

namespace troupe::collectives {

namespace {

/// Steps from the start of the common round to the end of the fragment's round.
std::int64_t offset(const Strategy& strategy, int fragment) {
  const auto steps = strategy.rounds.steps;
  return (fragment + 1) * steps / strategy.outer.fragments % steps;
}

} // namespace

std::vector<UnitRange> fragments_of(std::span<const std::size_t> unit_elements, int fragments) {
  const auto all = std::accumulate(unit_elements.begin(), unit_elements.end(), std::size_t{0});
  auto left = std::ranges::count_if(unit_elements, [](auto elements) { return elements > 0; });
  const auto most = std::max<std::int64_t>(left, 1);
  const auto wanted = static_cast<std::size_t>(std::clamp<std::int64_t>(fragments, 1, most));
  std::vector<UnitRange> found = {{0, 0}};
  std::size_t before = 0; // elements of earlier units
  for (UnitId unit = 0; unit < std::ssize(unit_elements); ++unit) {
    const auto elements = unit_elements[static_cast<std::size_t>(unit)];
    const bool is_full = before * wanted >= found.size() * all;
    const bool others_need_all = left == static_cast<std::int64_t>(wanted - found.size());
    if (elements > 0 && before > 0 && found.size() < wanted && (is_full || others_need_all))
      found.push_back({unit, unit});
    found.back().last = unit;
    before += elements;
    left -= elements > 0 ? 1 : 0;
  }
  return found;
}

std::vector<UnitRange> cut_at(std::span<const UnitRange> ranges,
                              std::span<const UnitRange> fragments,
                              std::span<const std::size_t> unit_elements) {
  const auto is_empty = [&](UnitId first, UnitId end) {
    const auto units = unit_elements.subspan(static_cast<std::size_t>(first),
                                             static_cast<std::size_t>(end - first));
    return std::ranges::all_of(units, [](auto elements) { return elements == 0; });
  };
  std::vector<UnitRange> cut;
  for (auto range : ranges) { // they descend
    for (auto fragment = fragments.rbegin(); fragment != fragments.rend(); ++fragment) {
      const auto first = fragment->first;
      if (first <= range.first || first > range.last || is_empty(range.first, first))
        continue;
      cut.push_back({first, range.last});
      range.last = first - 1;
    }
    cut.push_back(range);
  }
  return cut;
}

bool ends_round(const Strategy& strategy, int fragment, std::int64_t step) {
  return (step + 1) % strategy.rounds.steps == offset(strategy, fragment);
}

std::int64_t next_round(const Strategy& strategy, int fragment, std::int64_t step) {
  const auto steps = strategy.rounds.steps;
  const auto into = (step + 1 - offset(strategy, fragment) + steps) % steps;
  return into == 0 ? step : step + steps - into;
}

} // namespace troupe::collectives
