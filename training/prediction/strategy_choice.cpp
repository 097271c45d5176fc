#include "training/prediction/strategy_choice.hpp"

#include "core/config/config.hpp"
#include "core/device/memory_account.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::training {

namespace {

/// The strategy that divides everything, and so can offload everything.
constexpr auto all_divided = StrategyKind::fsdp;

/// What `plan` may recommend, and why what comes before it is not enough.
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
                 "nothing fits on the devices alone: with strategy fsdp and parallel.offload: "
                 "parameters, optimizer state and parameters lie in the host's memory, and travel "
                 "to the device in each step"});
  return all;
}

/// Whether such a job can have the strategy, which must be no other word for an earlier one.
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
      like.mixed_precision.parameters = "fp32"; // the others refuse it
    if (like.has_replica_groups())
      like.mixed_precision.buffers = "fp32"; // the rest is within a team
    else if (traits.policy != StepPolicy::every_step)
      like.mixed_precision = {};
    if (like.buddies == "on")
      like.buddies = "auto"; // takes as much, and is refused nowhere
    all.push_back(like);
  }
  if (parallel.offloads())
    all.push_back(parallel);
  // Where device and host share one memory, offloading saves nothing.
  if (needs.host_capacity && (parallel.strategy != all_divided || !parallel.offloads())) {
    auto everything = parallel;
    everything.strategy = all_divided;
    everything.offload = {.target = "parameters"};
    all.push_back(everything);
  }
  return all;
}

std::vector<Prediction> predict_all(const WorkerNeeds& needs,
                                    std::span<const ParallelConfig> alternatives) {
  std::vector<Prediction> predictions;
  predictions.reserve(alternatives.size());
  for (const auto& parallel : alternatives)
    predictions.push_back(predict(needs, parallel));
  return predictions;
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
    return {"", "there is nothing to choose from"};
  const auto activation_bytes = least->bytes[static_cast<std::size_t>(MemoryKind::activations)];
  const bool activations = activation_bytes * 2 > least->total();
  return {"", fmt::format("not even {} fits, with {} on each worker: {}", least->name(),
                          describe_bytes(least->total()),
                          activations ? "most of it is activations, which train.recompute makes "
                                        "again, and train.accumulate or more workers make smaller"
                                      : "more workers divide it further")};
}

} // namespace troupe::training
