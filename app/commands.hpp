/// The subcommands of `troupe`. Each adds its options to the command line, and sets the action when
/// it is chosen. The program runs the action with its models and data sets; the result is the exit
/// code.
#pragma once

#include "core/config/load.hpp"
#include "core/launch/launcher.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI
namespace troupe::inference {
struct SavedModelOptions;
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

/// MODEL, and options for data that it lacks, shared by the commands that use a trained model.
/// Warnings are printed on stderr.
void add_model_arguments(CLI::App& command, inference::SavedModelOptions& model);

// --launcher, for daemons started by torchrun or SLURM.

/// Adds --launcher, stored in `name`; empty: started without a launcher.
CLI::Option* add_launcher_option(CLI::App& command, std::string& name);

/// Reads this process's part of the job from its environment. Errors: those of read_launcher();
/// invalid_input, if the config has a key that only one process of this host can have.
Result<LaunchedProcess> find_part(const std::string& launcher, const ConfigArguments& arguments,
                                  const Catalogue& catalogue);

/// Makes own_gpu() the only GPU that this process sees. Call before any GPU is used. Error: that of
/// own_gpu().
Status show_own_gpu(const LaunchedProcess& process);

/// Loads the config. On failure reports every problem on stderr and returns empty.
std::optional<Config> load_or_report(const ConfigArguments& arguments,
                                     const Capabilities& capabilities, const Catalogue& catalogue,
                                     std::span<const GivenValue> given = {});

} // namespace troupe::app
