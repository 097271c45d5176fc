/// Selects a subset of a data set in which every class is represented.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace troupe::data {

/// Returns the positions of `count` samples in ascending order. Classes take turns, each with its
/// next sample, until `count` samples are selected or none remain.
std::vector<std::int64_t> spread_over_classes(std::span<const std::int32_t> labels,
                                              std::int64_t count);

/// Removes all elements except those at `places`, which are ascending.
template <class T>
void keep_only(std::vector<T>& elements, std::span<const std::int64_t> places) {
  std::size_t kept = 0;
  for (const auto place : places) {
    if (const auto from = static_cast<std::size_t>(place); from != kept)
      elements[kept] = std::move(elements[from]);
    ++kept;
  }
  elements.resize(kept);
}

} // namespace troupe::data
