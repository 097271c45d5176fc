#include "nn/passes/autocast_regions.hpp"

#include "core/escape.hpp"
#include "core/suggestion.hpp"
#include "nn/modules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace troupe::nn {

namespace {

bool switches_on(std::string_view entry) {
  return entry.starts_with('-');
}

std::string_view name_of(std::string_view entry) {
  return switches_on(entry) ? entry.substr(1) : entry;
}

/// Returns the parent of a module; empty for an outermost one.
std::string_view parent(std::string_view module) {
  const auto dot = module.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : module.substr(0, dot);
}

ConfigConflict conflict(std::string what, std::string allowed, std::string suggestion = {}) {
  return {{"model.autocast_off", "model.name"},
          std::move(what),
          std::move(allowed),
          std::move(suggestion)};
}

} // namespace

bool is_autocast(std::string_view module, const AutocastRegions& off) {
  std::string_view innermost;
  for (const std::string_view entry : off)
    if (is_within(module, name_of(entry)) && name_of(entry).size() > name_of(innermost).size())
      innermost = entry;
  return innermost.empty() || switches_on(innermost);
}

ConfigConflicts find_conflicts(const AutocastRegions& off, const Graph& forward) {
  ConfigConflicts found;
  const auto modules = module_names(forward);
  for (auto entry = off.begin(); entry != off.end(); ++entry) {
    const auto name = std::string{name_of(*entry)};
    const auto same = [&](const auto& other) { return name_of(other) == name; };
    if (std::ranges::count(modules, name) == 0)
      found.push_back(conflict(
          fmt::format("the model has no module \"{}\"", echoed(name)),
          fmt::format("{}, and the modules inside them", fmt::join(outermost(modules), ", ")),
          suggest(name, modules)));
    else if (std::any_of(off.begin(), entry, same))
      found.push_back(conflict(fmt::format("{} is listed twice", name), "each name once"));
    else if (is_autocast(parent(name), off) == switches_on(*entry))
      found.push_back(conflict(
          fmt::format("autocast is already {} around {}", switches_on(*entry) ? "on" : "off", name),
          "\"-NAME\" inside a module where autocast is off, NAME where it is on"));
  }
  return found;
}

} // namespace troupe::nn
