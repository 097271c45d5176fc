#include "data/tokenizer/split.hpp"

#include "data/tokenizer/characters.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace troupe::data {

namespace {

using Kind = CharacterClass;

constexpr auto no_limit = std::numeric_limits<std::size_t>::max();

/// Returns the position after the characters of one class that begin at `at`.
std::size_t skip(std::string_view text, std::size_t at, Kind kind, std::size_t most = no_limit) {
  for (; at < text.size() && most > 0; --most) {
    const auto character = character_at(text, at);
    if (character.kind != kind)
      break;
    at += character.bytes;
  }
  return at;
}

/// Offsets in the white space at the beginning of a text.
struct Spaces {
  std::size_t last = 0;     ///< start of its last character
  std::size_t line_end = 0; ///< after its last line end; 0 if it has none
  std::size_t end = 0;
};

Spaces spaces_of(std::string_view text) {
  Spaces spaces;
  while (spaces.end < text.size()) {
    const auto character = character_at(text, spaces.end);
    if (character.kind != Kind::space)
      break;
    spaces.last = spaces.end;
    spaces.end += character.bytes;
    if (is_line_end(text[spaces.last]))
      spaces.line_end = spaces.end;
  }
  return spaces;
}

/// \s+(?!\S)|\s+: leaves the last space to the next word.
std::size_t but_the_last(std::string_view text, const Spaces& spaces) {
  return spaces.end == text.size() || spaces.last == 0 ? spaces.end : spaces.last;
}

std::size_t contraction(std::string_view text) {
  for (const std::string_view one : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.starts_with(one))
      return one.size();
  return 0;
}

std::size_t word_of_gpt2(std::string_view text) {
  if (const auto length = contraction(text))
    return length;
  const std::size_t begin = text[0] == ' ' && text.size() > 1 ? 1 : 0;
  const auto first = character_at(text, begin);
  return first.kind == Kind::space ? but_the_last(text, spaces_of(text))
                                   : skip(text, begin, first.kind);
}

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + ('a' - 'A')) : letter;
}

std::size_t contraction_in_any_case(std::string_view text) {
  if (text.size() < 2 || text[0] != '\'')
    return 0;
  const char first = lower(text[1]), second = text.size() > 2 ? lower(text[2]) : '\0';
  if (first == 's' || first == 'd' || first == 'm' || first == 't')
    return 2;
  if (text.substr(1).starts_with("\u017f")) // the long s, which (?i) matches as an s
    return 3;
  const bool is_long = (first == 'l' && second == 'l') || (first == 'v' && second == 'e') ||
                       (first == 'r' && second == 'e');
  return is_long ? 3 : 0;
}

/// [^\r\n\p{L}\p{N}]?\p{L}+
std::size_t letters(std::string_view text, const Character& first) {
  if (first.kind == Kind::number || is_line_end(text[0]))
    return 0;
  const auto begin = first.kind == Kind::letter ? 0 : first.bytes;
  const auto end = skip(text, begin, Kind::letter);
  return end > begin ? end : 0;
}

/// ` ?[^\s\p{L}\p{N}]+[\r\n]*`
std::size_t punctuation(std::string_view text) {
  const std::size_t begin = text[0] == ' ' ? 1 : 0;
  auto end = skip(text, begin, Kind::other);
  if (end == begin)
    return 0;
  while (end < text.size() && is_line_end(text[end]))
    ++end;
  return end;
}

std::size_t word_of_cl100k(std::string_view text, bool is_newer) {
  if (const auto length = contraction_in_any_case(text))
    return length;
  const auto first = character_at(text, 0);
  if (const auto length = letters(text, first))
    return length;
  if (first.kind == Kind::number)
    return skip(text, 0, Kind::number, is_newer ? no_limit : 3);
  if (const auto length = punctuation(text))
    return length;
  const auto spaces = spaces_of(text);
  if (is_newer && spaces.end == text.size())
    return spaces.end;
  return spaces.line_end > 0 ? spaces.line_end : but_the_last(text, spaces);
}

bool is_alphanumeric(const Character& character) {
  return character.kind == Kind::letter || character.kind == Kind::number;
}

using Expression = std::pair<std::string_view, SplitRule>;
constexpr std::array expressions = {
    Expression{R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
               SplitRule::gpt2},
    Expression{R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
               SplitRule::gpt2},
    Expression{
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        SplitRule::cl100k},
    Expression{
        R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)",
        SplitRule::cl100k_newer},
};

} // namespace

std::size_t first_word(SplitRule rule, std::string_view text) {
  switch (rule) {
  case SplitRule::whole:
    return text.size();
  case SplitRule::gpt2:
    return word_of_gpt2(text);
  case SplitRule::cl100k:
    return word_of_cl100k(text, false);
  case SplitRule::cl100k_newer:
    return word_of_cl100k(text, true);
  }
  return text.size();
}

std::optional<SplitRule> rule_of(std::string_view expression) {
  const auto* const found = std::ranges::find(expressions, expression, &Expression::first);
  return found == expressions.end() ? std::nullopt : std::optional{found->second};
}

std::size_t last_cut(std::string_view text) {
  for (auto at = text.size(); at-- > 1;)
    if (text[at] == '\n' && is_alphanumeric(character_before(text, at)))
      return at;
  return 0;
}

} // namespace troupe::data
