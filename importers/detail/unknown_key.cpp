// Outcomes of keys without a row.
#include "core/suggestion.hpp"
#include "importers/detail/values.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace troupe {

namespace {

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
    return with_fate(Fate::idle, "it is empty");
  return {Fate::wrong,
          value_text(entry) + " has the wrong type",
          {},
          fmt::format("a mapping with {}", fmt::join(names, ", "))};
}

} // namespace

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

} // namespace troupe
