// `troupe completion`: prints the completion script of a shell.
#include "app/commands.hpp"
#include "app/completion.hpp"
#include "app/report_error.hpp"
#include "core/atomic_file.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

namespace troupe::app {

namespace {

int print_script(const std::string& shell, const std::string& output, const std::string& program) {
  const auto script = completion_script(shell, program);
  if (output.empty()) {
    fmt::print("{}", script);
    return success;
  }
  const auto written = write_file_atomically(output, script);
  return written ? success : report_error(written.error());
}

} // namespace

std::optional<std::vector<std::string>> words_to_complete(int argc, char** argv) {
  if (argc < 2 || std::string_view{argv[1]} != "__complete")
    return std::nullopt;
  return std::vector<std::string>{argv + 2, argv + argc};
}

int print_completions(const CLI::App& program, const std::vector<std::string>& words,
                      const Catalogue& catalogue) {
  for (const auto& line : completions(program, words, catalogue))
    fmt::print("{}\n", line);
  return success;
}

void add_completion_command(CLI::App& app, Action& action) {
  struct Arguments {
    std::string shell, output;
  };
  auto arguments = std::make_shared<Arguments>();
  auto* command = app.add_subcommand(
      "completion",
      "Print the script with which a shell completes commands, options and config keys");
  command->add_option("shell", arguments->shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->add_option("-o,--output", arguments->output, "Write to this file instead of stdout")
      ->type_name("FILE");
  command->callback([&app, &action, arguments] {
    action = [program = app.get_name(), arguments](const Catalogue&) {
      return print_script(arguments->shell, arguments->output, program);
    };
  });
}

} // namespace troupe::app
