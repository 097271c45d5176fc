#include "data/tokenizer/cut.hpp"

#include "data/tokenizer/characters.hpp"

#include <algorithm>

namespace troupe::data {

namespace {

using Kind = CharacterClass;

constexpr std::size_t longest_character = 4;

/// Returns where the white space before `at` begins, searching back to `searched`.
std::size_t begin_of_spaces(std::string_view text, std::size_t at, std::size_t searched) {
  while (at > searched) {
    const auto before = character_before(text, at);
    if (before.kind != Kind::space)
      break;
    at -= before.bytes;
  }
  return at;
}

/// Returns the position after the line ends that begin at `at`.
std::size_t skip_line_ends(std::string_view text, std::size_t at) {
  while (at < text.size() && is_line_end(text[at]))
    ++at;
  return at;
}

/// No word contains white space that follows a letter, a digit or, for GPT-2, punctuation. In
/// cl100k's expression, punctuation includes the line ends after it.
std::size_t cut_at_spaces(std::string_view text, std::size_t spaces, bool with_punctuation) {
  if (with_punctuation && character_before(text, spaces).kind == Kind::other)
    spaces = skip_line_ends(text, spaces);
  return spaces < text.size() ? spaces : 0; // at the end, the next character is unknown
}

template <bool with_punctuation>
std::size_t cut_at_line_end(std::string_view text, std::size_t searched) {
  for (auto at = text.size(); at > searched; --at) {
    if (!is_line_end(text[at - 1]))
      continue;
    at = begin_of_spaces(text, at, searched);
    if (at == 0 || character_before(text, at).kind == Kind::space)
      break; // the white space begins before `searched`
    if (const auto cut = cut_at_spaces(text, at, with_punctuation))
      return cut;
  }
  return 0;
}

std::size_t cut_anywhere(std::string_view text, std::size_t) {
  return text.size();
}

std::size_t cut_for_any(std::string_view text, std::size_t searched) {
  const auto from = searched - std::min(searched, longest_character);
  const auto found = last_cut(text.substr(from));
  return found == 0 ? 0 : from + found;
}

/// Returns whether a cut at a line end, or before the spaces that precede it, could divide the
/// token.
bool may_be_divided(const AddedTokens::Token& token) {
  bool is_space = true; // all characters so far
  for (std::size_t at = 0; at < token.text.size();) {
    const auto character = character_at(token.text, at);
    if (character.kind != Kind::space)
      is_space = false;
    else if (!is_space || is_line_end(token.text[at]))
      return true;
    at += character.bytes;
  }
  return false;
}

} // namespace

FindCut cut_for(const Tokenizer& tokenizer) {
  const auto& parts = tokenizer.parts();
  const bool no_added = std::ranges::all_of(
      parts.added, [](const AddedTokens& tokens) { return tokens.all().empty(); });
  if (parts.merges.empty() && !parts.whole_words && no_added)
    return cut_anywhere;
  for (const auto& tokens : parts.added)
    if (std::ranges::any_of(tokens.all(), may_be_divided))
      return cut_for_any;
  return parts.split == SplitRule::gpt2 ? cut_at_line_end<false> : cut_at_line_end<true>;
}

} // namespace troupe::data
