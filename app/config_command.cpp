#include "app/add_command.hpp"
#include "app/graph_text.hpp"
#include "app/launcher_arguments.hpp"
#include "core/config/schema.hpp"
#include "core/config/validate.hpp"
#include "core/escape.hpp"
#include "training/compiled_job.hpp"
#include "training/platforms/platforms.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::app {

namespace {

struct CheckArguments {
  std::vector<std::string> paths;
  std::vector<std::string> overrides;
  bool any_machine = false;
};

constexpr auto override_help = "Override a key; the value is YAML: --set train.epochs=3";

int check(const CheckArguments& arguments, const Catalogue& catalogue) {
  const auto capabilities =
      arguments.any_machine ? Capabilities::all() : training::machine_capabilities();
  int code = success;
  for (const auto& path : arguments.paths) {
    const auto config = load_or_report({path, arguments.overrides}, capabilities, catalogue);
    if (!config) {
      code = wrong_input;
      continue;
    }
    for (const auto& note : config_notes(*config, catalogue))
      say_line(fmt::format("{}: {}", escaped(path), note));
    if (const auto warning = thread_warning(config->devices, capabilities.host_cores);
        !warning.empty())
      say_line(fmt::format("{}: warning: {}", escaped(path), warning));
    fmt::print("{}: ok\n", path);
  }
  return code;
}

struct ShowArguments {
  ConfigArguments config;
  std::string launcher; ///< empty: none
  bool graph = false, json = false;
};

/// Prints the config. Names the source, for example a variable, after each key that the launcher
/// has set.
int show_launched(const ShowArguments& arguments, const Catalogue& catalogue) {
  const auto process = find_part(arguments.launcher, arguments.config, catalogue);
  if (!process)
    return report_error(process.error());
  const auto config =
      load_or_report(arguments.config, Capabilities::all(), catalogue, process->values);
  if (!config)
    return wrong_input;
  const auto own = stated_values(arguments.config.path, arguments.config.overrides, catalogue);
  fmt::print("{}", to_yaml(*config, catalogue, [&](const ConfigKey& key) {
               const auto given = std::ranges::find(process->values, key.path, &GivenValue::key);
               const bool taken = given != process->values.end() && !own.contains(key.path);
               return std::optional{taken ? given->from : std::string{}};
             }));
  return success;
}

/// The passes depend on the device, so this machine must have it.
int show_graph(const ShowArguments& arguments, const Catalogue& catalogue) {
  const auto config = load_or_report(arguments.config, training::machine_capabilities(), catalogue);
  if (!config)
    return wrong_input;
  const auto graph = training::training_graph(*config);
  if (!graph)
    return report_error(graph.error());
  fmt::print("{}", arguments.json ? graph_json(*graph) : graph_table(*graph));
  return success;
}

int show(const ShowArguments& arguments, const Catalogue& catalogue) {
  if (arguments.graph)
    return show_graph(arguments, catalogue);
  if (!arguments.launcher.empty())
    return show_launched(arguments, catalogue);
  // The file may be for another machine: only `check` and `train` require its devices here.
  const auto config = load_or_report(arguments.config, Capabilities::all(), catalogue);
  if (!config)
    return wrong_input;
  fmt::print("{}", to_yaml(*config, catalogue));
  return success;
}

int print_schema(const std::string& format, const Catalogue& catalogue) {
  fmt::print("{}", format == "json" ? config_json_schema(catalogue) : config_markdown(catalogue));
  return success;
}

} // namespace

void add_override_option(CLI::App& command, std::vector<std::string>& overrides,
                         const std::string& help) {
  command.add_option("--set", overrides, help)->type_name("KEY=VALUE")->allow_extra_args(false);
}

void add_config_arguments(CLI::App& command, ConfigArguments& arguments, bool required) {
  command.add_option("config", arguments.path, "The config file")
      ->required(required)
      ->type_name("CONFIG");
  add_override_option(command, arguments.overrides, override_help);
}

std::optional<Config> load_or_report(const ConfigArguments& arguments,
                                     const Capabilities& capabilities, const Catalogue& catalogue,
                                     std::span<const GivenValue> given) {
  auto config = load_config(arguments.path, arguments.overrides, capabilities, catalogue, given);
  if (config)
    return std::move(*config);
  for (const auto& problem : config.error())
    say_line(problem.to_string());
  return std::nullopt;
}

void add_config_command(CLI::App& app, Action& action) {
  auto* config = app.add_subcommand("config", "Check, print, describe and import config files");
  config->require_subcommand(1);

  auto [check_command, checked] = add_command<CheckArguments>(
      *config, action, "check", "Report all problems in config files", check);
  check_command.add_option("config", checked.paths, "Config files")
      ->required()
      ->type_name("CONFIG");
  add_override_option(check_command, checked.overrides, override_help);
  check_command.add_flag("--any-machine", checked.any_machine,
                         "Do not check whether this machine has the devices");

  auto [show_command, shown] = add_command<ShowArguments>(
      *config, action, "show", "Print a file with all defaults filled in", show);
  add_config_arguments(show_command, shown.config);
  auto* graph = show_command.add_flag("--graph", shown.graph,
                                      "Print the graph of a training step on this machine "
                                      "instead: ops, types and shapes, after all passes");
  show_command.add_flag("--json", shown.json, "Print the graph as JSON")->needs(graph);
  add_launcher_option(show_command, shown.launcher)->excludes(graph);

  auto [schema_command, format] = add_command<std::string>(
      *config, action, "schema", "Print the JSON schema for editors, or a reference of all keys",
      print_schema);
  format = "json";
  schema_command.add_option("--format", format, "json or markdown")
      ->check(CLI::IsMember({"json", "markdown"}))
      ->capture_default_str();

  add_import_command(*config, action);
}

} // namespace troupe::app
