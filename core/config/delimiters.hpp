/// Characters that separate the cells of a table, and their names in the config.
#pragma once

#include "core/choice.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace troupe {

enum class Delimiter : std::uint8_t { comma, semicolon, tab, pipe, space };

template <>
inline constexpr auto choice_words<Delimiter> = word_list("comma", "semicolon", "tab", "pipe",
                                                          "space");

inline constexpr std::array all_delimiters = {Delimiter::comma, Delimiter::semicolon,
                                              Delimiter::tab, Delimiter::pipe, Delimiter::space};

constexpr char character_of(Delimiter delimiter) {
  constexpr std::array characters = {',', ';', '\t', '|', ' '};
  return characters[static_cast<std::size_t>(delimiter)];
}

} // namespace troupe
