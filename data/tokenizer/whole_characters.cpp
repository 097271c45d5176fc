#include "data/tokenizer/whole_characters.hpp"

#include <algorithm>

namespace troupe::data {

namespace {

constexpr std::size_t longest = 4; ///< bytes of a character

bool continues(unsigned char byte) {
  return (byte & 0xC0) == 0x80;
}

/// Returns the length in bytes of a UTF-8 character with this first byte; 1 if no character begins
/// with it.
std::size_t length_of(unsigned char first) {
  if (first >= 0xC2 && first <= 0xDF)
    return 2;
  if (first >= 0xE0 && first <= 0xEF)
    return 3;
  return first >= 0xF0 && first <= 0xF4 ? 4 : 1;
}

} // namespace

std::size_t whole_characters(std::string_view bytes) {
  const auto size = bytes.size();
  for (std::size_t back = 1; back <= std::min(size, longest); ++back) {
    const auto byte = static_cast<unsigned char>(bytes[size - back]);
    if (!continues(byte))
      return length_of(byte) > back ? size - back : size;
  }
  return size;
}

} // namespace troupe::data
