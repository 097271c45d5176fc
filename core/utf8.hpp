/// Decodes UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe {

struct Utf8Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0; ///< 0: the text does not begin with a character
};

/// Returns the first character of a text. Rejects overlong encodings, surrogates, and code points
/// beyond Unicode. Precondition: the text is not empty.
Utf8Character first_character(std::string_view text);

bool is_utf8(std::string_view text);

} // namespace troupe
