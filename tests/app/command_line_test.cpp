#include "app/command_line.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstdio>

using namespace troupe::app;

namespace {

/// Returns the words that a shell makes of a command, each in brackets.
std::string words_of(const std::string& command) {
  const auto printed = "printf '[%s]' " + command;
  std::FILE* shell = ::popen(printed.c_str(), "r");
  std::string text;
  std::array<char, 256> piece{};
  for (std::size_t count; (count = std::fread(piece.data(), 1, piece.size(), shell)) > 0;)
    text.append(piece.data(), count);
  ::pclose(shell);
  return text;
}

} // namespace

TEST_CASE("a shell parses a printed command line into the same words") {
  CHECK(as_shell_command({"troupe", "train", "a.yaml", "--set", "run.name=x"}) ==
        "troupe train a.yaml --set run.name=x");
  const std::vector<std::string> words = {
      "my run.yaml", "train.wrap={by: block}", "it's", "$HOME `id` \"\\", "", "*", "ü\n"};
  std::string meant;
  for (const auto& word : words)
    meant += "[" + word + "]";
  CHECK(words_of(as_shell_command(words)) == meant);
}

TEST_CASE("a process knows its command line") {
  const auto words = own_command_line();
  REQUIRE_FALSE(words.empty());
  CHECK(words.front().ends_with("troupe_app_tests"));
}
