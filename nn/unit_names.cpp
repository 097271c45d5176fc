#include "nn/unit_names.hpp"

#include "core/escape.hpp"
#include "core/suggestion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace troupe::nn {

namespace {

/// Returns all valid names: units ("layer1.0") and their prefixes ("layer1").
std::vector<std::string> all_names(const std::vector<std::string>& units) {
  std::vector<std::string> names;
  std::unordered_set<std::string> known;
  for (const auto& unit : units)
    for (auto dot = unit.find('.');; dot = unit.find('.', dot + 1)) {
      if (auto name = unit.substr(0, dot); known.insert(name).second)
        names.push_back(std::move(name));
      if (dot == std::string::npos)
        break;
    }
  return names;
}

} // namespace

ConfigConflicts unknown_units(const std::string& key, const std::vector<std::string>& used,
                              const std::vector<std::string>& units) {
  ConfigConflicts found;
  const auto names = all_names(units);
  for (const auto& name : used)
    if (std::ranges::count(names, name) == 0)
      found.push_back({{key, "model.name"},
                       fmt::format("the model has no unit \"{}\"", echoed(name)),
                       fmt::format("{}", fmt::join(names, ", ")),
                       suggest(name, names)});
  return found;
}

} // namespace troupe::nn
