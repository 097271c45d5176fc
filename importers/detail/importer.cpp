#include "importers/detail/importer.hpp"

#include "core/config/load.hpp"
#include "core/config/schema.hpp"
#include "core/escape.hpp"
#include "importers/detail/values.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace troupe {

namespace {

bool is_problem(Fate fate, bool allow_unsupported) {
  return fate == Fate::wrong || (fate == Fate::refused && !allow_unsupported);
}

/// Removes the code marks, which the rows have for Markdown, for terminals.
std::string without_marks(std::string text) {
  std::erase(text, '`');
  return text;
}

} // namespace

ForeignOutcome Importer::outcome(const ForeignRows& rows, const ForeignContext& context,
                                 const ForeignEntry& entry) const {
  const auto* row = find_row(rows, entry.key);
  if (!row)
    return outcome_of_unknown(rows, context, entry);
  auto outcome = outcome_of(*row, context, entry);
  if (!is_problem(outcome.fate, options_.allow_unsupported))
    for (const auto& setting : outcome.settings)
      if (auto why = contradiction(setting); !why.empty())
        return {Fate::wrong, std::move(why)};
  return outcome;
}

std::string Importer::contradiction(const ForeignSetting& setting) const {
  const auto found = settings_.find(setting.key);
  if (found == settings_.end() || setting.firmness != Firmness::firm)
    return {};
  const auto& [other, origin] = found->second;
  if (other.firmness != Firmness::firm || other.value == setting.value)
    return {};
  return fmt::format("sets {}: {}, but {} in line {} of {} sets {}", setting.key, setting.value,
                     origin.key, origin.line, escaped(origin.source), other.value);
}

void Importer::set(const ForeignSetting& setting, ConfigProblem origin) {
  const auto [found, is_new] = settings_.try_emplace(setting.key, Chosen{setting, origin});
  if (!is_new && setting.firmness > found->second.setting.firmness)
    found->second = {setting, std::move(origin)};
}

std::int64_t Importer::count(Fate fate) const {
  return std::ranges::count(result_.lines, fate, &ImportLine::fate);
}

void Importer::set_default(const std::string& key, const std::string& value,
                           const std::string& why) {
  set({key, value, Firmness::default_value}, {.what = why});
}

/// Returns "data.batch_size: 64, train.accumulate: 2", and which settings another key overrules.
std::string Importer::settings_text(const ForeignSettings& settings) const {
  std::string text;
  for (const auto& [key, value, firmness] : settings) {
    const auto& [chosen, origin] = settings_.at(key);
    const bool overruled = chosen.value != value;
    if (firmness == Firmness::default_value && overruled)
      continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key, value);
    if (overruled)
      text += fmt::format(" (overridden by {})", origin.key);
  }
  return text;
}

std::string Importer::words(const ForeignOutcome& outcome) const {
  const auto says = without_marks(outcome.says);
  const std::string begin{names_of(outcome.fate).in_report};
  if (outcome.fate == Fate::open)
    return begin + (says.empty() ? "" : "; a value would map to " + says);
  if (outcome.fate == Fate::unknown && !outcome.suggestion.empty())
    return fmt::format("{}{}; did you mean \"{}\"?", begin, says, outcome.suggestion);
  if (outcome.fate != Fate::mapped)
    return begin + says;
  const auto to = settings_text(outcome.settings);
  return (to.empty() ? begin : begin + " to " + to) + (says.empty() ? "" : " (" + says + ")");
}

void Importer::report(const ForeignDocument& document, const ForeignEntry& entry,
                      const ForeignOutcome& outcome) {
  if (is_problem(outcome.fate, options_.allow_unsupported)) {
    const auto what =
        (outcome.fate == Fate::refused ? "not supported: " : "") + without_marks(outcome.says);
    return add(entry.problem(document.source, what, outcome.allowed, outcome.suggestion));
  }
  result_.lines.push_back({document.source, entry.line, entry.key, outcome.fate, words(outcome)});
}

void Importer::apply(const ForeignRows& rows, const ForeignContext& context) {
  std::vector<ForeignOutcome> outcomes;
  for (const auto& entry : context.document.entries) {
    outcomes.push_back(outcome(rows, context, entry));
    if (!is_problem(outcomes.back().fate, options_.allow_unsupported))
      for (const auto& setting : outcomes.back().settings)
        set(setting, entry.problem(context.document.source, {}));
  }
  // Done last, because a later key may overrule an earlier one.
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    report(context.document, context.document.entries[i], outcomes[i]);
}

std::string Importer::comment(const Chosen& chosen) const {
  const auto& origin = chosen.origin;
  if (origin.source.empty())
    return origin.what;
  return escaped(fmt::format("{}:{}: {}", origin.source, origin.line, origin.key));
}

std::optional<std::int64_t> Importer::number(const std::string& key) const {
  const auto found = settings_.find(key);
  if (found == settings_.end())
    return std::nullopt;
  return whole_of({.kind = ForeignKind::number, .text = found->second.setting.value});
}

/// The settings were given as overrides: moves a problem to the key of the file that made the
/// setting.
ConfigProblem Importer::placed(ConfigProblem problem) const {
  const std::string begin = "--set ";
  auto found = settings_.find(problem.key);
  if (found == settings_.end() && problem.source.starts_with(begin))
    found = settings_.find(
        problem.source.substr(begin.size(), problem.source.find('=') - begin.size()));
  if (found == settings_.end() || found->second.origin.source.empty())
    return problem;
  const auto& origin = found->second.origin;
  problem.what = fmt::format("{}: {}", problem.key, problem.what);
  problem.source = origin.source, problem.line = origin.line, problem.column = origin.column;
  problem.key = origin.key;
  return problem;
}

/// Returns the comment on a key: the sources of its value, or of fields of its mapping.
std::string Importer::sources_of(const std::string& path) const {
  std::vector<std::string> sources;
  for (const auto& [key, chosen] : settings_)
    if (auto source = comment(chosen);
        (key == path || key.starts_with(path + ".")) && std::ranges::count(sources, source) == 0)
      sources.push_back(std::move(source));
  return fmt::format("{}", fmt::join(sources, ", "));
}

/// Prints every key that was set or that an override has changed, with its source.
std::string Importer::yaml_of(const Config& config) const {
  auto default_value = default_config(catalogue_);
  std::map<std::string, std::string> default_texts;
  for (const auto& key : config_keys(default_value, catalogue_))
    default_texts[key.path] = config_value_text(key);
  return to_yaml(config, catalogue_, [&](const ConfigKey& key) -> std::optional<std::string> {
    if (auto sources = sources_of(key.path); !sources.empty())
      return sources;
    if (config_value_text(key) == default_texts[key.path])
      return std::nullopt;
    return "--set";
  });
}

void Importer::add(const std::vector<ConfigProblem>& problems) {
  std::ranges::copy(problems, std::back_inserter(result_.problems));
}

void Importer::require(const ForeignDocument& document, const std::string& key,
                       std::string allowed) {
  if (!document.find(key))
    add({.source = document.source,
         .key = key,
         .what = "is missing",
         .allowed = std::move(allowed)});
}

Imported Importer::finish(const std::string& program, const std::filesystem::path& path) && {
  if (!result_.problems.empty())
    return std::move(result_);
  std::vector<std::string> overrides;
  for (const auto& [key, chosen] : settings_)
    overrides.push_back(key + "=" + chosen.setting.value);
  overrides.insert(overrides.end(), options_.overrides.begin(), options_.overrides.end());
  // The config may be for another machine.
  const auto config =
      parse_config("", "the generated config", overrides, Capabilities::all(), catalogue_);
  if (config)
    result_.yaml = fmt::format("# Generated by troupe config import {} from {}.\n{}", program,
                               escaped(path.string()), yaml_of(*config));
  else
    for (const auto& problem : config.error())
      add(placed(problem));
  return std::move(result_);
}

} // namespace troupe
