#include "training/strategy.hpp"

#include "core/config/config.hpp"
#include "training/strategies/diloco/fragments.hpp"

namespace troupe::training {

std::size_t Strategy::kept(std::size_t elements) const {
  if (!offloads())
    return elements;
  const auto kept = static_cast<std::size_t>(static_cast<double>(elements) * (1 - offloaded));
  return kept / shard_alignment * shard_alignment;
}

Strategy strategy_of(const ParallelConfig& parallel, int world_size) {
  const auto& traits = traits_of(parallel.strategy);
  Strategy strategy{.world_size = world_size,
                    .replica_group = static_cast<int>(parallel.replica_group(world_size)),
                    .shards = static_cast<int>(parallel.shards(world_size)),
                    .root_only = traits.root_only && world_size > 1,
                    .policy = traits.policy,
                    .rounds = parallel.has_replica_groups()
                                  ? LocalSgdConfig{.steps = parallel.diloco.steps}
                                  : parallel.local_sgd,
                    .diloco = parallel.diloco,
                    .async = parallel.async,
                    .reshard_after_forward = parallel.reshard_after_forward,
                    .communicates_once = parallel.no_sync};
  strategy.offloads_parameters = parallel.offload.target == OffloadConfig::Target::parameters;
  if (parallel.offloads())
    strategy.offloaded = parallel.offload.ratio;
  if (strategy.is_asynchronous()) // each rank has a copy of all parameters, of its own version
    strategy.reshard_after_forward = false;
  const bool divided = strategy.shards > 1 || strategy.offloads_parameters;
  strategy.divides_optimizer = divided && parallel.divides() >= Divided::optimizer;
  strategy.divides_gradients = divided && parallel.divides() >= Divided::gradients;
  strategy.divides_parameters = divided && parallel.divides() >= Divided::parameters;
  strategy.gathered = parallel.mixed_precision.parameters;
  strategy.reduced = parallel.mixed_precision.reduce;
  strategy.alive = static_cast<std::size_t>(parallel.prefetch) + 1;
  return strategy;
}

namespace {

std::vector<UnitRange> wrap(const ParallelConfig& parallel,
                            std::span<const std::size_t> unit_elements,
                            std::span<const std::string> unit_names) {
  // Asynchronous ranks read all parameters at once, so they have no window to keep small.
  const bool asynchronous = traits_of(parallel.strategy).policy == StepPolicy::async;
  if (!parallel.divides_parameters() || asynchronous)
    return wrap_by_size(unit_elements, parallel.bucket_size);
  const auto& wrap = parallel.wrap;
  if (wrap.policy == WrapConfig::Policy::by_name)
    return wrap_by_name(unit_elements, unit_names, wrap.units);
  const auto least = wrap.policy == WrapConfig::Policy::size_based ? wrap.min_num_params : 1;
  return wrap_by_size(unit_elements, static_cast<std::size_t>(least) * sizeof(float));
}

} // namespace

std::vector<UnitRange> wrap_units(const ParallelConfig& parallel,
                                  std::span<const std::size_t> unit_elements,
                                  std::span<const std::string> unit_names) {
  auto ranges = wrap(parallel, unit_elements, unit_names);
  if (!parallel.has_replica_groups())
    return ranges;
  const auto fragments = static_cast<int>(parallel.diloco.fragments);
  return cut_at(ranges, fragments_of(unit_elements, fragments), unit_elements);
}

} // namespace troupe::training
