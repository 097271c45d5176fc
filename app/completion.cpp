#include "app/completion.hpp"

#include "app/command_tree.hpp"
#include "core/config/config.hpp"
#include "core/config/schema.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace troupe::app {

namespace {

using Lines = std::vector<std::string>;

/// Options that take the values of a config key.
constexpr std::pair<std::string_view, std::string_view> keys_of_options[] = {
    {"--strategies", "parallel.strategy"},
    {"--precisions", "precision.mode"},
    {"--device", "devices.kind"},
    {"--precision", "precision.mode"}};

/// Collects the candidates that start with a word.
struct Candidates {
  std::string word;
  Lines lines = {};

  void add(const std::string& candidate, const std::string& help) {
    if (candidate.starts_with(word))
      lines.push_back(candidate + "\t" + help);
  }
};

Lines values_of(const ConfigKey& key) {
  return std::holds_alternative<bool*>(key.target) ? Lines{"true", "false"} : choices_of(key);
}

/// Adds KEY= for every key and field, or KEY=VALUE for the values of one.
void add_settings(Candidates& to, const std::string& before, const Catalogue& catalogue) {
  auto config = default_config(catalogue);
  const bool has_key = to.word.find('=', before.size()) != std::string::npos;
  for (const auto& key : with_fields(config_keys(config, catalogue))) {
    if (key.hidden)
      continue;
    if (!has_key)
      to.add(before + key.path + "=", key.help);
    else
      for (const auto& value : values_of(key))
        to.add(fmt::format("{}{}={}", before, key.path, value), "");
  }
  if (!has_key)
    to.lines.emplace_back(":nospace");
}

Lines choices_of_option(const OptionTraits& option, const Catalogue& catalogue) {
  auto config = default_config(catalogue);
  const auto keys = config_keys(config, catalogue);
  for (const auto& [name, path] : keys_of_options)
    if (option.choices.empty() && !option.by_place() && option.names.back() == name)
      return choices_of(*find_key(keys, path));
  return option.choices;
}

/// Requests completions by the shell.
Lines files_of(const OptionTraits& option) {
  if (option.value == "CONFIG")
    return {":files yaml yml json"};
  if (option.value == "MODEL") // a run folder, a checkpoint or a file
    return {":files safetensors"};
  if (option.value == "FILE" || option.value == "INPUT" || option.value == "PATH")
    return {":files"};
  return option.value == "FOLDER" ? Lines{":folders"} : Lines{};
}

/// Completes the value of an option; `before` is the part of the word before the value:
/// "--format=".
Lines complete_value(const CLI::App& program, const OptionTraits& option, const std::string& word,
                     std::string before, const Catalogue& catalogue) {
  Candidates found{word};
  if (option.value == "KEY=VALUE")
    add_settings(found, before, catalogue);
  if (option.value == "NAME,...") // completes the last name of the list
    before = word.substr(0, std::max(before.size(), word.rfind(',') + 1));
  if (option.value == "COMMAND")
    for (const auto* command : subcommands_of(program))
      found.add(command->get_name(), command->get_description());
  for (const auto& choice : choices_of_option(option, catalogue))
    found.add(before + choice, "");
  return found.lines.empty() ? files_of(option) : found.lines;
}

/// The command line before the word to complete.
struct Begun {
  const CLI::App* command;
  std::vector<OptionTraits> options;
  const OptionTraits* open = nullptr; ///< the option whose value comes next
  std::size_t places = 0;             ///< positional words so far

  explicit Begun(const CLI::App& program) { enter(program); }

  const OptionTraits* named(std::string_view name) const {
    const auto found = std::ranges::find_if(options, [&](const OptionTraits& option) {
      return std::ranges::find(option.names, name) != option.names.end();
    });
    return found == options.end() ? nullptr : &*found;
  }

  /// The positional argument that comes next; the last one may be repeated.
  const OptionTraits* at_place() const {
    std::size_t place = 0;
    for (const auto& option : options)
      if (option.by_place() && (place++ == places || option.many))
        return &option;
    return nullptr;
  }

  void take(const std::string& word) {
    if (open) {
      open = nullptr;
      return;
    }
    if (word.starts_with('-')) {
      const auto* option = named(word);
      open = option && !option->value.empty() ? option : nullptr;
      return;
    }
    const auto inside = subcommands_of(*command);
    const auto found = std::ranges::find(inside, word, &CLI::App::get_name);
    if (found != inside.end())
      enter(**found);
    else
      ++places;
  }

private:
  void enter(const CLI::App& entered) {
    command = &entered;
    options = options_of(entered);
    places = 0;
  }
};

Lines complete_names(const Begun& begun, const std::string& word) {
  Candidates found{word};
  if (word.starts_with('-'))
    for (const auto& option : begun.options)
      for (const auto& name : option.names)
        found.add(name, option.help);
  else
    for (const auto* command : subcommands_of(*begun.command))
      found.add(command->get_name(), command->get_description());
  return found.lines;
}

Lines completions(const CLI::App& program, std::span<const std::string> words,
                  const Catalogue& catalogue) {
  const std::string word = words.empty() ? "" : words.back();
  Begun begun{program};
  for (const auto& before : words.first(words.empty() ? 0 : words.size() - 1))
    begun.take(before);
  if (begun.open)
    return complete_value(program, *begun.open, word, "", catalogue);
  const auto equals = word.find('=');
  if (word.starts_with("--") && equals != std::string::npos) {
    const auto* option = begun.named(word.substr(0, equals));
    return option ? complete_value(program, *option, word, word.substr(0, equals + 1), catalogue)
                  : Lines{};
  }
  auto names = complete_names(begun, word);
  const auto* place = begun.at_place();
  if (names.empty() && place && !word.starts_with('-'))
    return complete_value(program, *place, word, "", catalogue);
  return names;
}

} // namespace

std::optional<std::vector<std::string>> words_to_complete(int argc, char** argv) {
  if (argc < 2 || std::string_view{argv[1]} != "__complete")
    return std::nullopt;
  return std::vector<std::string>{argv + 2, argv + argc};
}

void print_completions(const CLI::App& program, std::span<const std::string> words,
                       const Catalogue& catalogue) {
  for (const auto& line : completions(program, words, catalogue))
    fmt::print("{}\n", line);
}

} // namespace troupe::app
