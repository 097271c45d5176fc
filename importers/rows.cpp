#include "importers/rows.hpp"

#include "core/suggestion.hpp"
#include "importers/detail/values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

namespace troupe {

namespace {

bool is_below(std::string_view key, std::string_view pattern) {
  return pattern.ends_with(".*") && key.starts_with(pattern.substr(0, pattern.size() - 1)) &&
         key.size() + 1 > pattern.size();
}

bool holds(std::string_view when, const ForeignContext& context) {
  const auto equals = when.find('=');
  if (equals == when.npos)
    return is_on(context, when);
  const auto* entry = context.find(when.substr(0, equals));
  return entry && entry->text == when.substr(equals + 1);
}

/// Returns the switch of a section around the key that is off, such as "elasticity.enabled"; empty
/// if none is.
std::string closed_switch(const ForeignContext& context, std::string_view key) {
  for (auto dot = key.find('.'); dot != key.npos; dot = key.find('.', dot + 1))
    for (const auto* name : {".enabled", ".shared_parameters.enabled"}) {
      auto path = std::string{key.substr(0, dot)} + name;
      if (const auto* entry = context.find(path); entry && path != key && !is_on(context, path))
        return path;
    }
  return {};
}

/// Returns why the value has no effect; empty if it has one.
std::string idle_reason(const ForeignRow& row, const ForeignContext& context,
                        const ForeignEntry& entry) {
  if (!row.when.empty() && !holds(row.when, context))
    return fmt::format("it is used only with {}", row.when);
  if (const auto closed = closed_switch(context, entry.key); !closed.empty())
    return closed + " is off";
  const bool asks_nothing =
      !row.needed && (entry.kind == ForeignKind::null || entry.kind == ForeignKind::mapping);
  if (asks_nothing || (!row.map && (is_neutral(entry) || entry.text == row.neutral)))
    return fmt::format("{} enables nothing", value_text(entry));
  return {};
}

/// Returns the names in a section: type and params for "optimizer". Empty if it is not a section.
std::vector<std::string> children(std::span<const ForeignRow> rows, std::string_view section) {
  std::set<std::string> names;
  for (const auto& row : rows) {
    std::string_view key = row.key;
    if (!section.empty()) {
      if (!key.starts_with(section) || key.size() == section.size() || key[section.size()] != '.')
        continue;
      key.remove_prefix(section.size() + 1);
    }
    names.emplace(key.substr(0, key.find('.')));
  }
  return {names.begin(), names.end()};
}

/// Returns the longest known section around the key.
std::string_view known_section(std::span<const ForeignRow> rows, std::string_view key) {
  for (auto dot = key.rfind('.'); dot != key.npos && dot > 0; dot = key.rfind('.', dot - 1))
    if (!children(rows, key.substr(0, dot)).empty())
      return key.substr(0, dot);
  return {};
}

ForeignOutcome wrong_section(const ForeignEntry& entry, const std::vector<std::string>& names) {
  if (is_neutral(entry) && entry.kind != ForeignKind::list)
    return {Fate::idle, "it is empty"};
  return {Fate::wrong,
          value_text(entry) + " has the wrong type",
          {},
          fmt::format("a mapping with {}", fmt::join(names, ", "))};
}

} // namespace

const FateNames& names_of(Fate fate) {
  static constexpr std::array<FateNames, 8> names = {{
      {"mapped", "mapped"},
      {"built in", "built in: "},
      {"not supported; trains the same", "not supported: "},
      {"**not supported**", "not supported, left out: "},
      {"no effect", "no effect: "},
      {"no effect", "\"auto\" is left at troupe's default"},
      {"no effect", "wrong: "},
      {"no effect", "warning: ignored: "},
  }};
  return names[static_cast<std::size_t>(fate)];
}

const ForeignRow* find_row(std::span<const ForeignRow> rows, std::string_view key) {
  const auto exact = std::ranges::find(rows, key, &ForeignRow::key);
  if (exact != rows.end())
    return &*exact;
  const auto around =
      std::ranges::find_if(rows, [&](const auto& row) { return is_below(key, row.key); });
  return around == rows.end() ? nullptr : &*around;
}

ForeignOutcome outcome_of(const ForeignRow& row, const ForeignContext& context,
                          const ForeignEntry& entry) {
  if (row.fate == Fate::built_in && !row.map) // whatever the value is
    return {Fate::built_in, std::string{row.says}};
  if (auto idle = idle_reason(row, context, entry); !idle.empty())
    return {Fate::idle, std::move(idle)};
  if (is_auto(entry) && entry.key.starts_with(context.auto_below))
    return {Fate::open, row.fate == Fate::mapped ? std::string{row.says} : std::string{}};
  if (row.map)
    return row.map(context, entry);
  return {row.fate, std::string{row.says}};
}

ForeignOutcome outcome_of_unknown(std::span<const ForeignRow> rows, const ForeignContext& context,
                                  const ForeignEntry& entry) {
  if (const auto names = children(rows, entry.key); !names.empty())
    return wrong_section(entry, names);
  const auto section = known_section(rows, entry.key);
  const auto name = std::string_view{entry.key}.substr(section.empty() ? 0 : section.size() + 1);
  const auto first = name.substr(0, name.find('.'));
  const auto known = children(rows, section);
  if (std::ranges::find(known, first) != known.end()) // a row of its own
    return {Fate::refused, fmt::format("unknown key: {} is a value, not a section", first)};
  constexpr std::size_t most = 20; // most names that a line shows
  return {context.allows_unknown ? Fate::unknown : Fate::refused,
          "unknown key",
          {},
          known.size() <= most ? fmt::format("{}", fmt::join(known, ", ")) : std::string{},
          suggest(first, known)};
}

std::string foreign_rows_markdown(std::span<const ForeignRow> rows) {
  std::string text = "| key | translation | details, or what to do instead |\n|---|---|---|\n";
  for (const auto& row : rows)
    text += fmt::format("| `{}` | {} | {} |\n", row.key, names_of(row.fate).in_table, row.says);
  return text;
}

} // namespace troupe
