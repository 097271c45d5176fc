// `troupe help` and `troupe version`.
#include "app/add_command.hpp"
#include "app/command_tree.hpp"
#include "app/doctor.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace troupe::app {

namespace {

int help(const CLI::App& app, const std::vector<std::string>& words) {
  const auto command = find_command(app, words);
  if (!command)
    return report_wrong_input(command.error().message);
  // The command's help() would print the help of `help`, the command that is running.
  fmt::print("{}", (*command)->get_formatter()->make_help(*command, full_name(**command),
                                                          CLI::AppFormatMode::Normal));
  return success;
}

int print_version(bool verbose) {
  fmt::print("troupe {}\n", TROUPE_VERSION);
  if (verbose) {
    print_findings({{"build", "type", TROUPE_BUILD_TYPE}, {"build", "compiler", __VERSION__}});
    print_findings(platform_findings());
    print_findings(library_findings());
  }
  return success;
}

} // namespace

void add_version_flags(CLI::App& app, Action& action) {
  app.set_version_flag("-V,--version", "troupe " TROUPE_VERSION);
  add_verbose_flag(
      app, "Print more (train, node, version); without a command: the same as version --verbose");
  app.callback([&app, &action] {
    if (!app.get_subcommands().empty() || !app.remaining().empty())
      return;
    if (!is_verbose(app))
      throw CLI::RequiredError("A command");
    action = [](const Catalogue&) { return print_version(true); };
  });
}

void add_verbose_flag(CLI::App& command, const std::string& help) {
  command.add_flag("-v,--verbose", help);
}

bool is_verbose(const CLI::App& command) {
  const auto* parent = command.get_parent();
  return command.count("--verbose") > 0 || (parent && is_verbose(*parent));
}

void add_help_commands(CLI::App& app, Action& action) {
  using Words = std::vector<std::string>;
  auto [of_command, words] =
      add_command<Words>(app, action, "help", "Print what a command does, and its options",
                         [&app](const Words& given) { return help(app, given); });
  add_value(of_command, "command", "COMMAND", words,
            "The command, such as config check; default: all commands");

  auto* version = app.add_subcommand("version", "Print the version");
  add_verbose_flag(*version, "Also print the build type, devices and libraries");
  version->callback([&action, version] {
    action = [verbose = is_verbose(*version)](const Catalogue&) { return print_version(verbose); };
  });
}

} // namespace troupe::app
