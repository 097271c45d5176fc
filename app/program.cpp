#include "app/program.hpp"

#include "app/command_tree.hpp"
#include "app/commands.hpp"
#include "app/completion.hpp"
#include "app/extensions.hpp"
#include "app/report_error.hpp"
#include "core/escape.hpp"
#include "training/platforms/platforms.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <fcntl.h>

namespace troupe::app {

namespace {

/// Replaces each closed standard stream with one on which every operation fails. Otherwise the next
/// file that is opened would get its number, and the output printed to it.
void hold_standard_streams() {
  for (const int stream : {0, 1, 2})
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF) // open() takes the lowest free number
      ::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
}

/// Whether all output could be written; if not, reports that on stderr.
bool printed_all() {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout)
    return true;
  const int number = errno; // 0 if only an earlier write failed
  report_error(fmt::format("standard output: {}",
                           number ? std::strerror(number) : "not all of it could be written"));
  return false;
}

/// "unknown command "confg"; did you mean "config"?" Empty if every word is known.
std::string unknown_word(const CLI::App& app) {
  const auto* command = &app;
  while (!command->get_subcommands().empty())
    command = command->get_subcommands().front();
  const auto extras = command->remaining();
  if (extras.empty())
    return {};
  std::vector<std::string> names;
  const bool is_option = extras.front().starts_with('-');
  if (is_option)
    for (const auto& option : options_of(*command))
      names.insert(names.end(), option.names.begin(), option.names.end());
  else
    for (const auto* known : subcommands_of(*command))
      names.push_back(known->get_name());
  return names.empty() ? "" : unknown_name(is_option ? "option" : "command", extras.front(), names);
}

int refuse(const CLI::App& app, const CLI::ParseError& error) {
  const auto unknown = unknown_word(app);
  if (error.get_exit_code() == 0 && unknown.empty()) // --help, --version
    return app.exit(error);
  report_error(unknown.empty() ? echoed(error.what()) : unknown);
  say_line("Run with --help for usage.");
  return wrong_input;
}

/// The name by which the program was called, for its help.
std::string program_name(int argc, char** argv) {
  const auto name = argc > 0 ? std::filesystem::path{argv[0]}.filename().string() : std::string{};
  return name.empty() ? "troupe" : name;
}

void add_commands(CLI::App& app, Action& action) {
  add_train_commands(app, action);
  add_compare_command(app, action);
  add_config_command(app, action);
  add_convert_command(app, action);
  add_data_command(app, action);
  add_doctor_command(app, action);
  add_evaluate_command(app, action);
  add_export_command(app, action);
  add_generate_command(app, action);
  add_plan_command(app, action);
  add_predict_command(app, action);
  add_report_command(app, action);
  add_runs_command(app, action);
  add_tokenize_command(app, action);
  add_client_commands(app, action);
  add_help_commands(app, action);
  add_manual_command(app, action);
  add_completion_command(app, action);
}

int obey(CLI::App& app, Action& action, const Catalogue& catalogue, int argc, char** argv) {
  if (const auto words = words_to_complete(argc, argv)) {
    print_completions(app, *words, catalogue);
    return success;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) { // CLI11 only throws this type
    return refuse(app, error);
  }
  return action(catalogue);
}

int run(int argc, char** argv, const Extensions& extensions) {
  // Exceeding a file size limit becomes a write error, like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  if (const auto prepared = training::prepare_process(); !prepared)
    return report_wrong_input(prepared.error().message);
  const auto catalogue = make_catalogue(extensions);
  if (!catalogue)
    return report_error(catalogue.error());
  CLI::App app{"A neural-network trainer built from cooperating actors", program_name(argc, argv)};
  app.require_subcommand(0, 1);
  Action action;
  add_version_flags(app, action);
  add_commands(app, action);
  const int code = obey(app, action, *catalogue, argc, argv);
  return printed_all() || code != success ? code : run_failed;
}

} // namespace

int run_program(int argc, char** argv, const Extensions& extensions) {
  hold_standard_streams();
  try {
    return run(argc, argv, extensions);
  } catch (const std::exception& error) { // our code returns errors; libraries may throw
    if (printed_all())
      report_error(error);
    return run_failed;
  }
}

} // namespace troupe::app
