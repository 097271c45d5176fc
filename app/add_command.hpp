/// Adds a command to the command line, with its arguments and its action.
#pragma once

#include "app/commands.hpp"
#include "app/report_error.hpp"

#include <CLI/CLI.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe::app {

inline int exit_code_of(int code) {
  return code;
}

inline int exit_code_of(const Status& done) {
  return done ? int{success} : report_error(done.error());
}

inline int exit_code_of(const Result<int>& code) {
  return code ? *code : report_error(code.error());
}

/// The command's action is `run(arguments, catalogue)` or `run(arguments)`, which returns the exit
/// code, or a Status or Result, whose error is reported. The arguments live as long as the command.
template <class Arguments, class Run>
std::pair<CLI::App&, Arguments&> add_command(CLI::App& app, Action& action, const char* name,
                                             const char* help, Run run) {
  const auto arguments = std::make_shared<Arguments>();
  auto* const command = app.add_subcommand(name, help);
  command->callback([&action, arguments, run] {
    action = [arguments, run](const Catalogue& catalogue) {
      if constexpr (std::invocable<Run, const Arguments&, const Catalogue&>)
        return exit_code_of(run(*arguments, catalogue));
      else
        return exit_code_of(run(*arguments));
    };
  });
  return {*command, *arguments};
}

/// Adds an option or a positional argument; help shows `type` in place of its value.
template <class Target>
CLI::Option* add_value(CLI::App& command, const char* name, const char* type, Target& target,
                       const std::string& help) {
  return command.add_option(name, target, help)->type_name(type);
}

/// Adds an option whose value is a number; help shows its default.
template <class Number>
CLI::Option* add_number(CLI::App& command, const char* name, Number& target,
                        const CLI::Validator& allowed, const std::string& help) {
  return command.add_option(name, target, help)->check(allowed)->capture_default_str();
}

/// Adds an option or a positional argument whose value is one of these words.
inline CLI::Option* add_choice(CLI::App& command, const char* name,
                               const std::vector<std::string>& words, std::string& target,
                               const std::string& help) {
  return command.add_option(name, target, help)->check(CLI::IsMember(words))->capture_default_str();
}

} // namespace troupe::app
