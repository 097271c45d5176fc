#include "program.hpp"

#include "commands.hpp"
#include "complain.hpp"
#include "extensions.hpp"

#include "troupe/core/nearest.hpp"
#include "troupe/core/printable.hpp"
#include "troupe/engine/platforms/platforms.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

namespace troupe::app {

namespace {

/// "unknown command "confg"; did you mean "config"?" Empty when every word was expected.
std::string unknown_command(const CLI::App& app) {
  const auto* command = &app;
  while (!command->get_subcommands().empty())
    command = command->get_subcommands().front();
  const auto extras = command->remaining();
  std::vector<std::string> names;
  for (const auto* known : command->get_subcommands(nullptr))
    names.push_back(known->get_name());
  if (extras.empty() || names.empty())
    return {};
  const auto meant = nearest(extras.front(), names);
  return fmt::format("unknown command \"{}\"{}", echoed(extras.front()),
                     meant.empty() ? meant : fmt::format("; did you mean \"{}\"?", meant));
}

int refuse(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) // --help, --version
    return app.exit(error);
  const auto unknown = unknown_command(app);
  complain(unknown.empty() ? echoed(error.what()) : unknown);
  say_line("Run with --help to see what is possible.");
  return wrong_input;
}

/// What the program was called as, by which its help names it.
std::string program_name(int argc, char** argv) {
  const auto name = argc > 0 ? std::filesystem::path{argv[0]}.filename().string() : std::string{};
  return name.empty() ? "troupe" : name;
}

int run(int argc, char** argv, const Extensions& extensions) {
  // A limit of a file's size is an error where the file is written, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  if (const auto prepared = engine::prepare_process(); !prepared) {
    complain(prepared.error().message);
    return wrong_input;
  }
  const auto catalogue = make_catalogue(extensions);
  if (!catalogue)
    return complain(catalogue.error());
  CLI::App app{"Trains neural networks on a company of actors", program_name(argc, argv)};
  app.set_version_flag("--version", "troupe " TROUPE_VERSION);
  app.require_subcommand(1);
  Action action;
  add_train_commands(app, action);
  add_compare_command(app, action);
  add_config_command(app, action);
  add_convert_command(app, action);
  add_data_command(app, action);
  add_doctor_command(app, action);
  add_export_command(app, action);
  add_plan_command(app, action);
  add_predict_command(app, action);
  add_client_commands(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) { // the one way CLI11 reports errors
    return refuse(app, error);
  }
  const int code = action(*catalogue);
  if (std::fflush(stdout) != 0) {
    std::perror("troupe: standard output");
    return run_failed;
  }
  return code;
}

} // namespace

int run_program(int argc, char** argv, const Extensions& extensions) {
  try {
    return run(argc, argv, extensions);
  } catch (const std::exception& error) { // ours return errors; libraries may throw
    complain(error);
    return run_failed;
  }
}

} // namespace troupe::app
