/// A model of three units, a to c, with one parameter each, for tests of a rank's enqueued work.
#pragma once

#include "core/device/executable.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace troupe::training::test {

inline constexpr std::size_t unit_elements = 48;

inline StorageLayout three_units() {
  StorageLayout layout;
  for (const auto unit : {0, 1, 2}) {
    const std::string name(1, static_cast<char>('a' + unit));
    layout.parameters.push_back(
        {name, {static_cast<std::int64_t>(unit_elements)}, unit, 0, unit_elements, nullptr});
    layout.unit_elements.push_back(unit_elements);
    layout.unit_names.push_back(name);
  }
  return layout;
}

/// Whether all elements of a unit have this value.
inline bool all_are(const float* values, float expected) {
  return std::all_of(values, values + unit_elements, [&](float v) { return v == expected; });
}

} // namespace troupe::training::test
