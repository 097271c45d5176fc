#include "nn/graph_check.hpp"

#include "core/config/config.hpp"
#include "core/escape.hpp"
#include "core/suggestion.hpp"
#include "nn/modules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace troupe::nn {

namespace {

struct Parameters {
  std::int64_t elements = 0;
  std::int64_t units = 0; ///< units that have parameters
};

Parameters count(const Graph& forward) {
  Parameters counted;
  std::set<UnitId> units;
  for (const auto id : forward.with_role(Role::parameter)) {
    counted.elements += forward[id].shape.elements();
    units.insert(forward[id].unit);
  }
  counted.units = static_cast<std::int64_t>(units.size());
  return counted;
}

} // namespace

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

ConfigConflicts too_much_to_divide(const Config& config, const Graph& forward) {
  const auto& parallel = config.parallel;
  const auto there = count(forward);
  const auto named = static_cast<std::int64_t>(parallel.wrap.units.size());
  ConfigConflicts found;
  if (named > there.units)
    found.push_back(
        {{"parallel.wrap", "model.name"},
         fmt::format("{} names, but the model has {} units with parameters", named, there.units),
         fmt::format("at most {}", there.units)});
  if (parallel.has_replica_groups() && parallel.diloco.fragments > there.units)
    found.push_back({{"parallel.diloco.fragments", "model.name"},
                     fmt::format("{} fragments, but the model has {} units with parameters",
                                 parallel.diloco.fragments, there.units),
                     fmt::format("at most {}", there.units)});
  const auto shards = parallel.shards(config.workers());
  if (shards > there.elements)
    found.push_back({{"parallel.strategy", "devices.count", "cluster.nodes"},
                     fmt::format("{} workers have to share {} parameters: some would have none",
                                 shards, there.elements),
                     fmt::format("ddp, or at most {} workers", there.elements)});
  return found;
}

} // namespace troupe::nn
