/// The subcommands of `troupe`. Each adds its options to the command line, and sets the action when
/// it is chosen. The program runs the action with its models and data sets; the result is the exit
/// code.
#pragma once

#include "core/config/load.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace troupe::app {

/// Exit codes; docs/exit-codes.md describes their consequences. `train` stopped by a signal exits
/// with signalled + the signal's number.
enum ExitCode : int { success = 0, run_failed = 1, wrong_input = 2, signalled = 128 };

using Action = std::function<int(const Catalogue& catalogue)>;

/// `status` and `stop`.
void add_client_commands(CLI::App& app, Action& action);
void add_compare_command(CLI::App& app, Action& action);
void add_completion_command(CLI::App& app, Action& action);
void add_config_command(CLI::App& app, Action& action);
void add_convert_command(CLI::App& app, Action& action);
void add_data_command(CLI::App& app, Action& action);
void add_doctor_command(CLI::App& app, Action& action);
void add_evaluate_command(CLI::App& app, Action& action);
void add_export_command(CLI::App& app, Action& action);
void add_generate_command(CLI::App& app, Action& action);
/// `help` and `version`.
void add_help_commands(CLI::App& app, Action& action);
/// `config import`.
void add_import_command(CLI::App& config, Action& action);
void add_manual_command(CLI::App& app, Action& action);
void add_plan_command(CLI::App& app, Action& action);
void add_predict_command(CLI::App& app, Action& action);
void add_report_command(CLI::App& app, Action& action);
void add_runs_command(CLI::App& app, Action& action);
void add_tokenize_command(CLI::App& app, Action& action);
/// `train` and `node`.
void add_train_commands(CLI::App& app, Action& action);

/// --version and --verbose of the program itself. --verbose without a command is `version
/// --verbose`.
void add_version_flags(CLI::App& app, Action& action);
/// --verbose of a command. It has the same effect in every position: `troupe -v train`, `troupe
/// train -v`.
void add_verbose_flag(CLI::App& command, const std::string& help);
bool is_verbose(const CLI::App& command);

/// --set.
void add_override_option(CLI::App& command, std::vector<std::string>& overrides,
                         const std::string& help);

/// CONFIG and --set, shared by several commands; `required`: CONFIG must be given.
struct ConfigArguments {
  std::string path;
  std::vector<std::string> overrides;
};
void add_config_arguments(CLI::App& command, ConfigArguments& arguments, bool required = true);

/// Loads the config. On failure reports every problem on stderr and returns empty.
std::optional<Config> load_or_report(const ConfigArguments& arguments,
                                     const Capabilities& capabilities, const Catalogue& catalogue,
                                     std::span<const GivenValue> given = {});

} // namespace troupe::app
