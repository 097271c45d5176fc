/// Shell completion. Shells ask the program itself, so that they know the commands, keys and models
/// of the program that is being typed.
#pragma once

#include "core/config/catalogue.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace troupe::app {

/// Returns completions of the last word, which may be empty, one line each: "CANDIDATE\tHELP".
/// Lines that start with a colon request completions by the shell: ":files yaml yml" (files with
/// these endings; none: all), ":folders". ":nospace" means that a candidate may be continued.
/// `words`: the command line without the program.
std::vector<std::string> completions(const CLI::App& program, std::span<const std::string> words,
                                     const Catalogue& catalogue);

/// Returns the words after `__complete`, the command that shells call; empty for other command
/// lines.
std::optional<std::vector<std::string>> words_to_complete(int argc, char** argv);
/// Prints the completions; returns the exit code.
int print_completions(const CLI::App& program, const std::vector<std::string>& words,
                      const Catalogue& catalogue);

/// The script for bash, zsh or fish. `program`: the name of the program.
std::string completion_script(std::string_view shell, const std::string& program);

} // namespace troupe::app
