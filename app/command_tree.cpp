#include "app/command_tree.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/suggestion.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace troupe::app {

namespace {

/// Splits CLI11's description of an option's value, TYPE:RULE. A set of words is "{a,b}".
void take_type(OptionTraits& traits, const std::string& type) {
  const auto set = type.find(":{"), inside = type.find(" in [");
  const auto range = inside == type.npos ? type.npos : type.rfind(':', inside);
  traits.value = type.substr(0, std::min(set, range));
  if (range != std::string::npos)
    traits.allowed = type.substr(range + 1);
  if (set == std::string::npos)
    return;
  std::istringstream words{type.substr(set + 2, type.find('}') - set - 2)};
  for (std::string word; std::getline(words, word, ',');)
    traits.choices.push_back(word);
}

OptionTraits traits_of(const CLI::Option& option) {
  OptionTraits traits;
  if (!option.get_positional()) {
    for (const auto& name : option.get_snames())
      traits.names.push_back("-" + name);
    for (const auto& name : option.get_lnames())
      traits.names.push_back("--" + name);
  }
  if (option.get_type_size() != 0)
    take_type(traits, option.get_type_name());
  traits.default_value = option.get_default_str();
  traits.help = option.get_description();
  traits.required = option.get_required();
  traits.many = option.get_items_expected_max() > 1;
  return traits;
}

std::vector<std::string> names_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names(commands.size());
  std::ranges::transform(commands, names.begin(), &CLI::App::get_name);
  return names;
}

} // namespace

std::vector<OptionTraits> options_of(const CLI::App& command) {
  std::vector<OptionTraits> all;
  for (const auto* option : command.get_options())
    if (!option->get_group().empty())
      all.push_back(traits_of(*option));
  return all;
}

std::vector<const CLI::App*> subcommands_of(const CLI::App& command) {
  return command.get_subcommands(std::function<bool(const CLI::App*)>{});
}

Result<const CLI::App*> find_command(const CLI::App& program, std::span<const std::string> words) {
  const auto* command = &program;
  for (const auto& word : words) {
    const auto inside = subcommands_of(*command);
    const auto found = std::ranges::find(inside, word, &CLI::App::get_name);
    if (found == inside.end())
      return fail(Errc::invalid_input, "{}", unknown_name("command", word, names_of(inside)));
    command = *found;
  }
  return command;
}

std::string full_name(const CLI::App& command) {
  const auto* parent = command.get_parent();
  return parent ? full_name(*parent) + " " + command.get_name() : command.get_name();
}

std::string unknown_name(std::string_view what, const std::string& name,
                         const std::vector<std::string>& known) {
  const auto meant = suggest(name, known);
  return fmt::format("unknown {} \"{}\"{}", what, echoed(name),
                     meant.empty() ? meant : fmt::format("; did you mean \"{}\"?", meant));
}

} // namespace troupe::app
