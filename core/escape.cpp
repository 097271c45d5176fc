#include "core/escape.hpp"

#include "core/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace troupe {

namespace {

/// Excludes control characters, and characters that change the direction or the line of the
/// following text.
bool is_printable(std::uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool layout = (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
                      (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
  return !control && !layout;
}

/// Returns the escape; empty if the character can be shown as it is.
std::string escape(std::string_view text, const Utf8Character& character) {
  if (character.bytes == 0)
    return fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
  if (is_printable(character.code))
    return {};
  if (character.code == '\n')
    return "\\n";
  if (character.code == '\t')
    return "\\t";
  return character.code < 0x80 ? fmt::format("\\x{:02x}", character.code)
                               : fmt::format("\\u{{{:x}}}", character.code);
}

/// `longest` limits the length of the escaped text.
std::string show(std::string_view text, std::size_t longest, bool keeps_lines) {
  std::string out;
  std::size_t length = 0;
  while (!text.empty()) {
    const auto character = first_character(text);
    const auto bytes = std::max<std::size_t>(character.bytes, 1);
    const bool as_it_is = keeps_lines && text.front() == '\n';
    const auto instead = as_it_is ? std::string{} : escape(text, character);
    length += std::max<std::size_t>(instead.size(), 1);
    if (length > longest)
      return out + "...";
    out += instead.empty() ? text.substr(0, bytes) : std::string_view{instead};
    text.remove_prefix(bytes);
  }
  return out;
}

} // namespace

std::string escaped(std::string_view text) {
  return show(text, SIZE_MAX, false);
}

std::string escaped_lines(std::string_view text) {
  return show(text, SIZE_MAX, true);
}

std::string echoed(std::string_view text, std::size_t longest) {
  return show(text, longest, false);
}

} // namespace troupe
