/// What may come next on a command line: what shells ask the program itself, so that they know the
/// commands, keys and models of the very program that is typed.
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

/// What may stand where the last word is, as lines: "CANDIDATE\tHELP", or, with a colon in front,
/// what a shell knows itself: ":files yaml yml" (of these endings; none: all), ":folders"; and
/// ":nospace": a candidate may go on. Only candidates that go on from the last word, which may be
/// empty, are told. `words`: without the program.
std::vector<std::string> completions(const CLI::App& program, std::span<const std::string> words,
                                     const Catalogue& catalogue);

/// The words behind `__complete`, by which shells ask; empty where the command line is another.
std::optional<std::vector<std::string>> words_to_complete(int argc, char** argv);
/// Prints the completions; gives the exit code.
int print_completions(const CLI::App& program, const std::vector<std::string>& words,
                      const Catalogue& catalogue);

/// What bash, zsh or fish reads. `program` is its name.
std::string completion_script(std::string_view shell, const std::string& program);

} // namespace troupe::app
