/// Shorthands for rules in the tables of keys.
#pragma once

#include "core/config/schema.hpp"

#include <utility>

namespace troupe {

inline ConfigRule at_least(double min) {
  return {.min = min};
}
inline ConfigRule above(double min) {
  return {.min = min, .above_min = true};
}
inline ConfigRule one_of(std::vector<std::string> choices) {
  return {.choices = std::move(choices)};
}
/// The upper limit only keeps products of such numbers far from overflow.
inline ConfigRule count_to(double max) {
  return {.min = 1, .max = max};
}
inline ConfigRule a_path() {
  return {.format = ConfigFormat::path};
}
/// Decay factors such as momentum: [0, 1).
inline ConfigRule fraction() {
  return {.min = 0, .max = 1, .below_max = true};
}

} // namespace troupe
