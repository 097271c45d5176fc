#include "training/prediction/strategy_choice.hpp"

#include "core/config/config.hpp"
#include "core/device/memory_account.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::training {

namespace {

/// The strategy that divides everything, and so can offload everything.
constexpr auto all_divided = StrategyKind::fsdp;

/// A strategy that `plan` may recommend, and why earlier candidates do not suffice.
struct Candidate {
  StrategyKind strategy;
  bool offloads;
  std::string_view reason;
};

std::vector<Candidate> candidates() {
  std::vector<Candidate> all;
  for (const auto& traits : strategies)
    if (!traits.reason.empty())
      all.push_back({traits.kind, false, traits.reason});
  all.push_back({all_divided, true,
                 "no strategy fits in device memory; with fsdp and parallel.offload: parameters, "
                 "the optimizer state and the parameters stay in host memory and are copied to the "
                 "device in each step"});
  return all;
}

/// Whether such a job can use the strategy. An alias of another strategy does not count.
bool is_possible(const ParallelConfig& like, int world_size) {
  const auto& traits = traits_of(like.strategy);
  if (traits.alias || traits.alone != (world_size == 1) || world_size % like.group() != 0)
    return false;
  return !like.has_shard_groups() || world_size > like.shard_group;
}

} // namespace

std::vector<ParallelConfig> alternatives(const WorkerNeeds& needs, const ParallelConfig& parallel) {
  std::vector<ParallelConfig> all;
  for (const auto& traits : strategies) {
    auto like = parallel;
    like.strategy = traits.kind;
    if (!is_possible(like, needs.world_size))
      continue;
    like.offload = {};
    if (!like.divides_parameters())
      like.mixed_precision.parameters = DType::f32; // the others refuse it
    if (like.has_replica_groups())
      like.mixed_precision.buffers = DType::f32; // only replica groups use the other types
    else if (traits.policy != StepPolicy::every_step)
      like.mixed_precision = {};
    if (like.replicate_shards == ReplicateShards::on)
      like.replicate_shards =
          ReplicateShards::automatic; // takes the same memory and is never refused
    all.push_back(like);
  }
  if (parallel.offloads())
    all.push_back(parallel);
  // If device and host share one memory, offloading saves nothing.
  if (needs.host_capacity && (parallel.strategy != all_divided || !parallel.offloads())) {
    auto everything = parallel;
    everything.strategy = all_divided;
    everything.offload = {.target = OffloadConfig::Target::parameters};
    all.push_back(everything);
  }
  return all;
}

Recommendation recommend(std::span<const Prediction> predictions) {
  const Prediction* least = nullptr;
  for (const auto& candidate : candidates()) {
    const auto found = std::ranges::find_if(predictions, [&](const Prediction& prediction) {
      return prediction.strategy == candidate.strategy && prediction.offloads == candidate.offloads;
    });
    if (found == predictions.end())
      continue;
    if (found->fits)
      return {found->name(), std::string{candidate.reason}};
    least = &*found;
  }
  if (!least)
    return {"", "no strategy is possible"};
  const auto activation_bytes = least->bytes[static_cast<std::size_t>(MemoryKind::activations)];
  const bool activations = activation_bytes * 2 > least->total();
  return {"", fmt::format("not even {} fits, with {} on each worker: {}", least->name(),
                          describe_bytes(least->total()),
                          activations ? "most of it is activations; set train.recompute, raise "
                                        "train.accumulate or use more workers"
                                      : "use more workers, which divide it further")};
}

} // namespace troupe::training
