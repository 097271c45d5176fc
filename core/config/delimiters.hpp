/// Characters that separate the cells of a table, and their names in the config.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct Delimiter {
  std::string_view name;
  char character;
};

inline constexpr std::array delimiters = {Delimiter{"comma", ','}, Delimiter{"semicolon", ';'},
                                          Delimiter{"tab", '\t'}, Delimiter{"pipe", '|'},
                                          Delimiter{"space", ' '}};

inline std::vector<std::string> delimiter_names() {
  std::vector<std::string> names;
  for (const auto& delimiter : delimiters)
    names.emplace_back(delimiter.name);
  return names;
}

/// Precondition: `name` is one of delimiter_names().
inline char delimiter_character(std::string_view name) {
  return std::ranges::find(delimiters, name, &Delimiter::name)->character;
}

} // namespace troupe
