/// What the split expressions of tokenizers ask of a character: \p{L}, \p{N} and \s, as Unicode has
/// them (libicu).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe::data {

enum class CharacterClass : std::uint8_t { letter, number, space, other };

struct Character {
  char32_t code = 0; ///< what is no UTF-8 has 0xFFFD
  CharacterClass kind = CharacterClass::other;
  std::size_t bytes = 1;
};

/// The character at `at`, which is less than the text's size. Bytes that are no UTF-8 are
/// characters of the class other, so that every text has words.
Character character_at(std::string_view text, std::size_t at);

/// The character that ends before `at`, which is not 0; of the class other unless it is UTF-8.
Character character_before(std::string_view text, std::size_t at);

} // namespace troupe::data
