#include "nn/unit_names.hpp"

#include "core/escape.hpp"
#include "core/suggestion.hpp"
#include "nn/modules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace troupe::nn {

ConfigConflicts unknown_units(const std::string& key, const std::vector<std::string>& used,
                              const std::vector<std::string>& units) {
  ConfigConflicts found;
  const auto names = with_parents(units); // units ("layer1.0") and their prefixes ("layer1")
  for (const auto& name : used)
    if (std::ranges::count(names, name) == 0)
      found.push_back({{key, "model.name"},
                       fmt::format("the model has no unit \"{}\"", echoed(name)),
                       fmt::format("{}", fmt::join(names, ", ")),
                       suggest(name, names)});
  return found;
}

} // namespace troupe::nn
