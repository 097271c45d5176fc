#include "data/tokenizer/characters.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <unicode/uchar.h>
#include <unicode/utf8.h>

namespace troupe::data {

namespace {

CharacterClass class_of(UChar32 code) {
  if (u_isUWhiteSpace(code) != 0)
    return CharacterClass::space;
  const auto category = U_GET_GC_MASK(code);
  if ((category & U_GC_L_MASK) != 0)
    return CharacterClass::letter;
  return (category & U_GC_N_MASK) != 0 ? CharacterClass::number : CharacterClass::other;
}

std::array<CharacterClass, 128> ascii_classes() {
  std::array<CharacterClass, 128> classes;
  for (std::size_t i = 0; i < classes.size(); ++i)
    classes[i] = class_of(static_cast<UChar32>(i));
  return classes;
}

} // namespace

Character character_at(std::string_view text, std::size_t at) {
  static const auto ascii = ascii_classes();
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(text.data()) + at;
  if (bytes[0] < ascii.size())
    return {bytes[0], ascii[bytes[0]], 1};
  const auto longest = static_cast<int>(std::min<std::size_t>(text.size() - at, 4));
  int length = 0;
  UChar32 code = 0;
  U8_NEXT(bytes, length, longest, code);
  const auto size = static_cast<std::size_t>(length);
  if (code < 0)
    return {0xFFFD, CharacterClass::other, size};
  return {static_cast<char32_t>(code), class_of(code), size};
}

Character character_before(std::string_view text, std::size_t at) {
  constexpr std::size_t longest = 4; // bytes of a character
  auto begin = at - 1;
  while (begin > 0 && at - begin < longest && (static_cast<unsigned char>(text[begin]) >> 6) == 2)
    --begin;
  const auto character = character_at(text, begin);
  return begin + character.bytes == at ? character : Character{};
}

std::size_t whole_characters(std::string_view bytes) {
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  auto length = std::ssize(bytes);
  U8_TRUNCATE_IF_INCOMPLETE(begin, 0, length);
  return static_cast<std::size_t>(length);
}

} // namespace troupe::data
