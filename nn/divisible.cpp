#include "nn/divisible.hpp"

#include "core/config/config.hpp"

#include <fmt/format.h>

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
    found.push_back({{"parallel.strategy", "devices.count", "cluster.min_nodes"},
                     fmt::format("{} workers have to share {} parameters: some would have none",
                                 shards, there.elements),
                     fmt::format("ddp, or at most {} workers", there.elements)});
  return found;
}

} // namespace troupe::nn
