/// Colours of data, on light pages and on dark ones. They tell apart also for people who see few of
/// them.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace troupe::metrics {

struct Color {
  std::string_view light, dark; ///< "#rrggbb"
};

inline constexpr std::array<Color, 8> palette = {{{"#0072b2", "#58a9e6"},
                                                  {"#d55e00", "#f08a4b"},
                                                  {"#009e73", "#3cc79a"},
                                                  {"#b0629a", "#d58fc1"},
                                                  {"#3fa2d9", "#8fd0f5"},
                                                  {"#8a8f98", "#9aa1ad"},
                                                  {"#c9a000", "#f2d24b"},
                                                  {"#4f3a8a", "#7d62c9"}}};

/// The class of what is drawn in a colour. Behind the last one they begin again: whatever is drawn
/// has one.
std::string color_class(std::size_t index);

/// The style sheet of these classes: what a class stands for is the property --data.
std::string palette_style();

} // namespace troupe::metrics
