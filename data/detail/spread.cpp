#include "data/detail/spread.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace troupe::data {

std::vector<std::int64_t> spread_over_classes(std::span<const std::int32_t> labels,
                                              std::int64_t count) {
  std::map<std::int32_t, std::int64_t> seen;
  std::vector<std::int64_t> turns; // by sample: number of earlier samples of its class
  for (const auto label : labels)
    turns.push_back(seen[label]++);
  std::vector<std::int64_t> places(labels.size());
  std::iota(places.begin(), places.end(), 0);
  std::ranges::stable_sort(places, {},
                           [&](auto place) { return turns[static_cast<std::size_t>(place)]; });
  places.resize(
      std::min(places.size(), static_cast<std::size_t>(std::max<std::int64_t>(count, 0))));
  std::ranges::sort(places);
  return places;
}

} // namespace troupe::data
