/// What the command line takes, as help, manual pages and shells show it.
#pragma once

#include "core/error.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace troupe::app {

/// An option, or a word that stands by its place.
struct OptionTraits {
  std::vector<std::string> names;        ///< "-o", "--output"; empty: stands by its place
  std::string value;                     ///< what it takes: "FILE", "TEXT"; empty: nothing
  std::string allowed = {};              ///< "INT in [1 - 65536]"; empty: anything
  std::vector<std::string> choices = {}; ///< all that it takes; empty: anything
  std::string default_value = {};        ///< taken where it is not given
  std::string help = {};
  bool required = false, many = false;

  bool by_place() const { return names.empty(); }
};

/// Those that help shows, in its order.
std::vector<OptionTraits> options_of(const CLI::App& command);
std::vector<const CLI::App*> subcommands_of(const CLI::App& command);

/// The command of these words ("config", "check"). Error: invalid_input, with the nearest name.
Result<const CLI::App*> find_command(const CLI::App& program, std::span<const std::string> words);

/// "troupe config check"
std::string full_name(const CLI::App& command);

/// "unknown command "confg"; did you mean "config"?"
std::string unknown_name(std::string_view what, const std::string& name,
                         const std::vector<std::string>& known);

} // namespace troupe::app
