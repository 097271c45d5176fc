/// Splits a text into words. Byte pair encoding never merges across words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace troupe::data {

/// A regular expression whose consecutive matches are the words of a text.
enum class SplitRule : std::uint8_t {
  whole, ///< the text is one word
  /// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  gpt2,
  /// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*
  /// |\s*[\r\n]+|\s+(?!\S)|\s+
  cl100k,
  /// cl100k as tiktoken since 0.8 writes it and Hugging Face (Oniguruma) reads it. White space at
  /// the text's end is one word. So are digits, in any number, because {1,3}+ repeats there.
  cl100k_newer,
};

/// Returns the length in bytes of the first word of a non-empty text.
std::size_t first_word(SplitRule rule, std::string_view text);

/// Returns the rule of a regular expression in the spelling of tokenizer files; nothing if it is
/// not supported.
std::optional<SplitRule> rule_of(std::string_view expression);

/// Returns the last position where cutting the text does not change its words, for any rule and any
/// text that follows; 0 if there is none.
std::size_t last_cut(std::string_view text);

} // namespace troupe::data
