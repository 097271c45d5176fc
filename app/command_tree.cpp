#include "app/command_tree.hpp"

#include "core/fail.hpp"
#include "core/nearest.hpp"
#include "core/printable.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace troupe::app {

namespace {

/// CLI11 shows what an option takes as TYPE:RULE, where a set of words is "{a,b}".
void take_type(OptionFacts& facts, const std::string& type) {
  const auto set = type.find(":{"), inside = type.find(" in [");
  const auto range = inside == type.npos ? type.npos : type.rfind(':', inside);
  facts.value = type.substr(0, std::min(set, range));
  if (range != std::string::npos)
    facts.allowed = type.substr(range + 1);
  if (set == std::string::npos)
    return;
  std::istringstream words{type.substr(set + 2, type.find('}') - set - 2)};
  for (std::string word; std::getline(words, word, ',');)
    facts.choices.push_back(word);
}

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts;
  if (!option.get_positional()) {
    for (const auto& name : option.get_snames())
      facts.names.push_back("-" + name);
    for (const auto& name : option.get_lnames())
      facts.names.push_back("--" + name);
  }
  if (option.get_type_size() != 0)
    take_type(facts, option.get_type_name());
  facts.usual = option.get_default_str();
  facts.help = option.get_description();
  facts.required = option.get_required();
  facts.many = option.get_items_expected_max() > 1;
  return facts;
}

std::vector<std::string> names_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names(commands.size());
  std::ranges::transform(commands, names.begin(), &CLI::App::get_name);
  return names;
}

} // namespace

std::vector<OptionFacts> options_of(const CLI::App& command) {
  std::vector<OptionFacts> all;
  for (const auto* option : command.get_options())
    if (!option->get_group().empty())
      all.push_back(facts_of(*option));
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
  const auto meant = nearest(name, known);
  return fmt::format("unknown {} \"{}\"{}", what, echoed(name),
                     meant.empty() ? meant : fmt::format("; did you mean \"{}\"?", meant));
}

} // namespace troupe::app
