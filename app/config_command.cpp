#include "app/add_command.hpp"
#include "core/config/schema.hpp"
#include "core/config/validate.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "nn/shape_rules.hpp"
#include "training/compiled_job.hpp"
#include "training/platforms/platforms.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

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
Result<int> show_launched(const ShowArguments& arguments, const Catalogue& catalogue) {
  TROUPE_TRY(const auto process, find_part(arguments.launcher, arguments.config, catalogue));
  const auto config =
      load_or_report(arguments.config, Capabilities::all(), catalogue, process.values);
  if (!config)
    return wrong_input;
  const auto own = stated_values(arguments.config.path, arguments.config.overrides, catalogue);
  fmt::print("{}", to_yaml(*config, catalogue, [&](const ConfigKey& key) {
               const auto given = std::ranges::find(process.values, key.path, &GivenValue::key);
               const bool taken = given != process.values.end() && !own.contains(key.path);
               return std::optional{taken ? given->from : std::string{}};
             }));
  return success;
}

constexpr std::size_t columns = 8;
using Cells = std::array<std::string, columns>;
using Json = nlohmann::ordered_json;

std::string_view phase_of(const Node& node) {
  return node.phase == Phase::forward ? "forward" : "backward";
}

const std::string& unit_of(const Graph& graph, const Node& node) {
  return graph.units[static_cast<std::size_t>(node.unit)];
}

/// "conv1.weight:f32>bf16[16x3x3x3]".
std::string describe_input(const Graph& graph, const Node& node, std::size_t input) {
  const auto& tensor = graph[node.inputs[input]];
  const auto read = nn::read_type(graph, node, input);
  const auto types = read == tensor.dtype
                         ? std::string{to_string(read)}
                         : fmt::format("{}>{}", to_string(tensor.dtype), to_string(read));
  return fmt::format("{}:{}[{}]", tensor.name, types, tensor.shape.to_string());
}

Cells cells_of(const Graph& graph, const Node& node) {
  const auto& y = graph[node.outputs[0]];
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    inputs.push_back(describe_input(graph, node, i));
  return {std::string{phase_of(node)},
          unit_of(graph, node),
          std::string{to_string(node.op)},
          y.name,
          std::string{to_string(nn::computed_type(graph, node))},
          std::string{to_string(y.dtype)},
          y.shape.to_string(),
          fmt::format("{}", fmt::join(inputs, ", "))};
}

Json describe(const Tensor& tensor) {
  return {{"name", tensor.name}, {"dtype", to_string(tensor.dtype)}, {"shape", tensor.shape.dims}};
}

/// One line for each node, in aligned columns: phase, unit, op, name of its first output, the type
/// it computes in, that output's type and shape, its inputs. "f32>bf16": rounded when read.
std::string graph_table(const Graph& graph) {
  std::vector<Cells> rows = {{"PHASE", "UNIT", "OP", "NAME", "IN", "OUT", "SHAPE", "READS"}};
  for (const auto& node : graph.nodes)
    rows.push_back(cells_of(graph, node));
  std::array<std::size_t, columns> widths = {};
  for (const auto& row : rows)
    for (std::size_t i = 0; i < columns; ++i)
      widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i + 1 < columns; ++i)
      text += fmt::format("{:<{}}  ", row[i], widths[i]);
    text += row.back() + "\n";
  }
  return text;
}

/// An array with one object for each node, with all inputs and outputs: each with name, dtype and
/// shape, inputs also with the type they are read in.
std::string graph_json(const Graph& graph) {
  auto nodes = Json::array();
  for (const auto& node : graph.nodes) {
    auto inputs = Json::array(), outputs = Json::array();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      inputs.push_back(describe(graph[node.inputs[i]]));
      inputs.back()["read_as"] = to_string(nn::read_type(graph, node, i));
    }
    for (const auto id : node.outputs)
      outputs.push_back(describe(graph[id]));
    nodes.push_back({{"phase", phase_of(node)},
                     {"unit", unit_of(graph, node)},
                     {"op", to_string(node.op)},
                     {"name", graph[node.outputs[0]].name},
                     {"computes_in", to_string(nn::computed_type(graph, node))},
                     {"inputs", std::move(inputs)},
                     {"outputs", std::move(outputs)}});
  }
  return nodes.dump(2) + "\n";
}

/// The passes depend on the device, so this machine must have it.
Result<int> show_graph(const ShowArguments& arguments, const Catalogue& catalogue) {
  const auto config = load_or_report(arguments.config, training::machine_capabilities(), catalogue);
  if (!config)
    return wrong_input;
  TROUPE_TRY(const auto graph, training::training_graph(*config));
  fmt::print("{}", arguments.json ? graph_json(graph) : graph_table(graph));
  return success;
}

Result<int> show(const ShowArguments& arguments, const Catalogue& catalogue) {
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
  add_value(command, "--set", "KEY=VALUE", overrides, help)->allow_extra_args(false);
}

void add_config_arguments(CLI::App& command, ConfigArguments& arguments, bool required) {
  add_value(command, "config", "CONFIG", arguments.path, "The config file")->required(required);
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
  add_value(check_command, "config", "CONFIG", checked.paths, "Config files")->required();
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
  add_choice(schema_command, "--format", {"json", "markdown"}, format, "json or markdown");

  add_import_command(*config, action);
}

} // namespace troupe::app
