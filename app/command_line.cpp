#include "app/command_line.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>

namespace troupe::app {

namespace {

bool is_plain(char c) {
  constexpr std::string_view safe = "_-./:=,+@%";
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || safe.find(c) != safe.npos;
}

/// A shell takes every character in single quotes literally, except the quote itself.
std::string quoted(const std::string& word) {
  if (!word.empty() && std::ranges::all_of(word, is_plain))
    return word;
  std::string text = "'";
  for (const char c : word)
    text += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return text + "'";
}

} // namespace

std::vector<std::string> own_command_line() {
  std::ifstream in{"/proc/self/cmdline", std::ios::binary};
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');)
    words.push_back(word);
  return words;
}

std::string as_shell_command(const std::vector<std::string>& words) {
  std::string command;
  for (const auto& word : words)
    command += (command.empty() ? "" : " ") + quoted(word);
  return command;
}

} // namespace troupe::app
