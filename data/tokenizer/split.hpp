/// Where tokenizers cut a text into words, which byte pair encoding never merges with each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace troupe::data {

/// An expression, which a text is matched with from its begin to its end.
enum class SplitRule : std::uint8_t {
  whole, ///< a text is one word
  /// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  gpt2,
  /// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*
  /// |\s*[\r\n]+|\s+(?!\S)|\s+
  cl100k,
  /// cl100k as tiktoken writes it since 0.8 and Hugging Face (Oniguruma) reads it: white space at
  /// the text's end is one word, and so are digits, however many, as {1,3}+ repeats there.
  cl100k_newer,
};

/// Length in bytes of the first word of a text that is not empty.
std::size_t first_word(SplitRule rule, std::string_view text);

/// The rule of a regular expression as files write it; none: not one of ours.
std::optional<SplitRule> rule_of(std::string_view expression);

/// The last place where a text can be cut so that, by any rule, the words of both parts are those
/// of the whole, whatever comes behind it; 0: there is none.
std::size_t last_cut(std::string_view text);

} // namespace troupe::data
