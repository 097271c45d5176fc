/// A part of a data set in which every class has its share.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace troupe::data {

/// The places of `count` samples, ascending: classes take turns, each with its next sample, until
/// there are so many. All of them if there are no more.
std::vector<std::int64_t> spread_over_classes(std::span<const std::int32_t> labels,
                                              std::int64_t count);

/// Only the elements in these places, which are ascending, stay.
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
