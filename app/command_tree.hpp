/// The commands and options of the command line, as shown by help, manual pages and shells.
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

/// An option or a positional argument.
struct OptionTraits {
  std::vector<std::string> names; ///< "-o", "--output"; empty: positional
  std::string value;        ///< placeholder of its value: "FILE", "TEXT"; empty: takes no value
  std::string allowed = {}; ///< "INT in [1 - 65536]"; empty: anything
  std::vector<std::string> choices = {}; ///< all allowed values; empty: anything
  std::string default_value = {};        ///< used if the option is not given
  std::string help = {};
  bool required = false, many = false;

  bool by_place() const { return names.empty(); }
};

/// The options that help shows, in its order.
std::vector<OptionTraits> options_of(const CLI::App& command);
std::vector<const CLI::App*> subcommands_of(const CLI::App& command);

/// Returns the command with these words ("config", "check"). Error: invalid_input, with a
/// suggestion.
Result<const CLI::App*> find_command(const CLI::App& program, std::span<const std::string> words);

/// "troupe config check"
std::string full_name(const CLI::App& command);

/// "unknown command "confg"; did you mean "config"?"
std::string unknown_name(std::string_view what, const std::string& name,
                         const std::vector<std::string>& known);

} // namespace troupe::app
