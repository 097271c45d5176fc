/// Shell commands of tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe::testing {

/// Quotes one word of a shell command: a path may contain blanks.
inline std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text)
    word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

/// Returns a command made of these words.
inline std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const auto& word : words)
    line += shell_word(word) + " ";
  return line;
}

} // namespace troupe::testing
