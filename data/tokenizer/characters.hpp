/// Character classes that the split expressions of tokenizers use: \p{L}, \p{N} and \s, as Unicode
/// defines them (libicu).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe::data {

enum class CharacterClass : std::uint8_t { letter, number, space, other };

struct Character {
  char32_t code = 0; ///< 0xFFFD for bytes that are not UTF-8
  CharacterClass kind = CharacterClass::other;
  std::size_t bytes = 1;
};

/// Returns the character at `at`, which is less than the text's size. Bytes that are not UTF-8 are
/// characters of class other, so that every text has words.
Character character_at(std::string_view text, std::size_t at);

/// Returns the character that ends before `at`, which is not 0. Its class is other unless it is
/// UTF-8.
Character character_before(std::string_view text, std::size_t at);

inline bool is_line_end(char letter) {
  return letter == '\r' || letter == '\n';
}

/// Returns how many of the first bytes of a stream can be shown before more arrive: all except an
/// incomplete UTF-8 character at the end. Bytes that cannot become a character count as whole.
std::size_t whole_characters(std::string_view bytes);

} // namespace troupe::data
