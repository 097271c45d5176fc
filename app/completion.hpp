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

/// Returns the words after `__complete`, the command that shells call; empty for other command
/// lines.
std::optional<std::vector<std::string>> words_to_complete(int argc, char** argv);

/// Prints completions of the last word, which may be empty, one line each: "CANDIDATE\tHELP".
/// Lines that start with a colon request completions by the shell: ":files yaml yml" (files with
/// these endings; none: all), ":folders". ":nospace" means that a candidate may be continued.
/// `words`: the command line without the program.
void print_completions(const CLI::App& program, std::span<const std::string> words,
                       const Catalogue& catalogue);

} // namespace troupe::app
