#include "app/manual.hpp"

#include "app/command_tree.hpp"
#include "core/config/config.hpp"
#include "core/config/schema.hpp"
#include "core/config/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cctype>

namespace troupe::app {

namespace {

/// As it stands: a hyphen is one to copy, and a line does not begin with what roff obeys.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (out.empty() && (c == '.' || c == '\''))
      out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string bold(std::string_view text) {
  return "\\fB" + plain(text) + "\\fR";
}

std::string italic(std::string_view text) {
  return "\\fI" + plain(text) + "\\fR";
}

std::string section(std::string_view title) {
  return fmt::format(".SH {}\n", title);
}

std::string paragraph(std::string_view text) {
  return fmt::format(".PP\n{}\n", text);
}

/// A term, and what is said of it.
std::string entry(std::string_view term, std::string_view text) {
  return fmt::format(".TP\n{}\n{}\n", term, text);
}

std::string sentence(const std::string& text) {
  return text.empty() || text.ends_with('.') ? text : text + ".";
}

std::string value_of(const OptionTraits& option) {
  return option.choices.empty() ? italic(option.value)
                                : bold(fmt::format("{}", fmt::join(option.choices, "|")));
}

std::string term_of(const OptionTraits& option) {
  if (option.by_place())
    return value_of(option) + (option.many ? " ..." : "");
  std::vector<std::string> names;
  for (const auto& name : option.names)
    names.push_back(bold(name));
  return fmt::format("{}{}", fmt::join(names, ", "),
                     option.value.empty() ? "" : " " + value_of(option));
}

std::string said_of(const OptionTraits& option) {
  auto text = sentence(option.help);
  if (!option.allowed.empty())
    text += fmt::format(" Allowed: {}.", option.allowed);
  if (!option.default_value.empty())
    text += fmt::format(" Default: {}.", option.default_value);
  if (option.many)
    text += " May be given several times.";
  if (option.required)
    text += " Required.";
  return plain(text);
}

std::string options_text(const CLI::App& command) {
  std::string text;
  for (const auto& option : options_of(command))
    text += entry(term_of(option), said_of(option));
  return text;
}

std::string synopsis(const CLI::App& command) {
  auto text = bold(full_name(command)) + " [" + italic("OPTIONS") + "]";
  for (const auto& option : options_of(command))
    if (option.by_place())
      text += option.required ? " " + term_of(option) : " [" + term_of(option) + "]";
  return text + (subcommands_of(command).empty() ? "" : " " + italic("COMMAND") + " ...");
}

/// What lies inside a command, each with its options.
std::string inside_text(const CLI::App& command) {
  std::string text;
  for (const auto* inside : subcommands_of(command))
    text += fmt::format(".SS {}\n{}{}{}{}", plain(full_name(*inside)), paragraph(synopsis(*inside)),
                        paragraph(plain(sentence(inside->get_description()))),
                        options_text(*inside), inside_text(*inside));
  return text;
}

std::string heading(std::string_view name, char section_number, std::string_view brief) {
  std::string title{name};
  for (char& c : title)
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return fmt::format(".\\\" Made by the program: troupe man.\n"
                     ".TH {} {} \"\" \"troupe {}\" \"troupe\"\n{}{} \\- {}\n",
                     plain(title), section_number, TROUPE_VERSION, section("NAME"), plain(name),
                     plain(brief));
}

std::string exit_status() {
  return section("EXIT STATUS") + entry("0", "Done.") +
         entry("1", "Failed; another attempt may have more luck. Also where standard output could "
                    "not be written.") +
         entry("2", "Wrong input, which no other attempt mends: a config, a file or an argument.") +
         entry("130, 143", plain("train: stopped by SIGINT, by SIGTERM, and saved."));
}

std::string page_reference(const std::string& page, char section_number) {
  return fmt::format(".BR {} ({})", plain(page), section_number);
}

ManualPage page_of_command(const CLI::App& program, const CLI::App& command) {
  const auto name = program.get_name() + "-" + command.get_name();
  const auto inside = inside_text(command);
  return {.name = name,
          .text = heading(name, '1', command.get_description()) + section("SYNOPSIS") +
                  synopsis(command) + "\n" + section("DESCRIPTION") +
                  plain(sentence(command.get_description())) + "\n" + section("OPTIONS") +
                  options_text(command) + (inside.empty() ? "" : section("COMMANDS") + inside) +
                  exit_status() + section("SEE ALSO") + page_reference(program.get_name(), '1') +
                  " ,\n" + page_reference(program.get_name() + ".yaml", '5') + "\n"};
}

ManualPage page_of_program(const CLI::App& program) {
  const auto& name = program.get_name();
  std::string commands, references;
  for (const auto* command : subcommands_of(program)) {
    commands +=
        entry(bold(name + " " + command->get_name()), plain(sentence(command->get_description())));
    references += page_reference(name + "-" + command->get_name(), '1') + " ,\n";
  }
  return {.name = name,
          .text = heading(name, '1', program.get_description()) + section("SYNOPSIS") +
                  synopsis(program) + "\n" + section("DESCRIPTION") +
                  paragraph(plain(sentence(program.get_description()) +
                                  " A config file says what is trained, on which data and how.")) +
                  section("COMMANDS") + commands + section("OPTIONS") + options_text(program) +
                  exit_status() + section("ENVIRONMENT") +
                  entry(bold("TROUPE_ISA"), plain("baseline, avx2, avx512 or best: the most that "
                                                  "the host device uses of its processor.")) +
                  section("SEE ALSO") + references + page_reference(name + ".yaml", '5') + "\n"};
}

std::string said_of(const ConfigKey& key) {
  auto text = fmt::format("{} Default: {}. Allowed: {}.", sentence(key.help),
                          config_value_text(key), allowed_values(key));
  if (!key.deprecated.empty())
    text += fmt::format(" Deprecated: {}.", key.deprecated);
  return plain(text);
}

ManualPage page_of_config(const std::string& program, const Catalogue& catalogue) {
  const auto name = program + ".yaml";
  auto text = heading(name, '5', "the config file of a training run") + section("DESCRIPTION") +
              paragraph(plain("A YAML file of sections with keys, all of which have a default. "
                              "On the command line a key is overridden with --set KEY=VALUE.")) +
              section("KEYS");
  auto config = default_config(catalogue);
  const auto keys = config_keys(config, catalogue);
  for (const auto& part : config_sections()) {
    text += fmt::format(".SS {}\n{}", plain(part.path),
                        paragraph(plain(sentence(std::string{part.help}))));
    for (const auto& key : keys)
      if (key.path.substr(0, key.path.rfind('.')) == part.path)
        text += entry(bold(key.path), said_of(key));
  }
  return {.name = name,
          .section = '5',
          .text = text + section("SEE ALSO") + page_reference(program, '1') + "\n"};
}

} // namespace

std::vector<ManualPage> manual_pages(const CLI::App& program, const Catalogue& catalogue) {
  std::vector<ManualPage> pages = {page_of_program(program)};
  for (const auto* command : subcommands_of(program))
    pages.push_back(page_of_command(program, *command));
  pages.push_back(page_of_config(program.get_name(), catalogue));
  return pages;
}

} // namespace troupe::app
