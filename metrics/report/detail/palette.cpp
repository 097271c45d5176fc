#include "palette.hpp"

#include <fmt/format.h>

namespace troupe::metrics {

namespace {

std::string colors_of(std::string_view Color::*scheme) {
  std::string text;
  for (std::size_t i = 0; i < palette.size(); ++i)
    text += fmt::format(" .c{} {{ --data: {}; }}", i, palette[i].*scheme);
  return text;
}

} // namespace

std::string color_class(std::size_t index) {
  return fmt::format("c{}", index % palette.size());
}

std::string palette_style() {
  return fmt::format("{}\n@media (prefers-color-scheme: dark) {{{} }}\n", colors_of(&Color::light),
                     colors_of(&Color::dark));
}

} // namespace troupe::metrics
