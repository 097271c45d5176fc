/// Characters of UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe {

struct Utf8Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0; ///< 0: the text begins with none
};

/// The first character of a text that is not empty. Refuses what is longer than it need be,
/// surrogates, and numbers beyond Unicode's.
Utf8Character first_character(std::string_view text);

bool is_utf8(std::string_view text);

} // namespace troupe
