#include "memory_prediction.hpp"

#include "../state/host_shard.hpp"
#include "../state/model_state.hpp"

#include "troupe/collectives/strategy.hpp"
#include "troupe/core/config/config.hpp"
#include "troupe/core/device/loss_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace troupe::engine {

namespace {

using collectives::FlatPlan;
using collectives::Strategy;

constexpr std::size_t scratch_bytes = ModelState::scratch_elements * sizeof(float);

std::size_t& of(BytesByKind& bytes, MemoryKind kind) {
  return bytes[static_cast<std::size_t>(kind)];
}

/// What each of n sends of an all-gather or reduce-scatter that has `bytes` in all.
std::uint64_t ring(std::uint64_t bytes, int n) {
  return bytes * static_cast<std::uint64_t>(n - 1) / static_cast<std::uint64_t>(n);
}

/// Where values are made narrow before they travel: room for the largest bucket in two bytes each.
std::size_t wire_bytes(const Strategy& strategy, const FlatPlan& plan) {
  if (strategy.gathered == DType::f32 && strategy.reduced == DType::f32)
    return 0;
  std::size_t largest = 0;
  for (const auto& bucket : plan.buckets)
    largest = std::max(largest, bucket.elements);
  return (largest + 1) / 2 * sizeof(float);
}

/// Buffers of all statistics.
std::size_t statistics_kept(const WorkerNeeds& needs, const Strategy& strategy) {
  return std::size_t{1} + (needs.keeps_statistics ? 1 : 0) +
         (!needs.votes && !strategy.is_asynchronous() ? 0
          : strategy.trains_apart()
              ? 1 // of the base
              : static_cast<std::size_t>(ModelState::committed_turns(strategy)));
}

/// Whether each worker keeps a copy of another one's shard: nodes have as many workers each.
bool has_buddies(const WorkerNeeds& needs, const Strategy& strategy,
                 const ParallelConfig& parallel) {
  return needs.votes && parallel.buddies != "off" && strategy.shards > 1 &&
         strategy.replicas() == 1;
}

/// A copy of a shard, with room for the gradients that keep it up; and on a GPU those that a step
/// has to leave, of all shards here.
void add_recovery(BytesByKind& bytes, const WorkerNeeds& needs, const Strategy& strategy,
                  const FlatPlan& plan, bool buddies) {
  const auto shard = plan.shard_elements();
  const auto kept = strategy.kept(shard);
  if (buddies) {
    of(bytes, MemoryKind::parameters) += sizeof(float) * kept;
    of(bytes, MemoryKind::gradients) += sizeof(float) * shard;
    of(bytes, MemoryKind::optimizer) += sizeof(float) * needs.optimizer_slots * kept;
    if (strategy.offloads())
      of(bytes, MemoryKind::pinned) += HostShard::bytes(shard - kept, needs.optimizer_slots);
  }
  const bool on_host = !needs.host_capacity;
  if (on_host || !needs.votes || needs.workers_of_node >= strategy.shards)
    return;
  of(bytes, MemoryKind::gradients) += sizeof(float) * shard * (buddies ? 2 : 1);
  of(bytes, MemoryKind::workspace) += sizeof(float) * Prepared::findings_elements;
}

/// What workers that train apart can go back to, where others may go on from it.
void add_base(BytesByKind& bytes, const WorkerNeeds& needs, const Strategy& strategy,
              const FlatPlan& plan) {
  if (!needs.votes || !strategy.trains_apart())
    return;
  of(bytes, MemoryKind::parameters) += sizeof(float) * plan.elements;
  of(bytes, MemoryKind::optimizer) += sizeof(float) * needs.optimizer_slots * plan.elements +
                                      (needs.scales_loss ? sizeof(LossScaleState) : 0);
  of(bytes, MemoryKind::workspace) += sizeof(std::int64_t);
}

/// Sums of the steps that may be under way; and in the host's reach the versions that are read, and
/// what travels: at the most what all send of a slice, and what is read for one.
void add_owner(BytesByKind& bytes, const WorkerNeeds& needs, const Strategy& strategy,
               const FlatPlan& plan, bool compensates) {
  if (!strategy.is_asynchronous())
    return;
  const auto shard = sizeof(float) * plan.shard_elements();
  const auto under_way = static_cast<std::size_t>(strategy.staleness) + 1;
  of(bytes, MemoryKind::gradients) += under_way * shard * (compensates ? 4 : 1);
  const auto travels =
      2 * sizeof(float) * plan.elements + (compensates ? under_way + 1 : 2) * shard;
  of(bytes, needs.host_capacity ? MemoryKind::pinned : MemoryKind::communication) += travels;
  of(bytes, MemoryKind::workspace) += needs.scales_loss ? sizeof(float) : 0;
}

BytesByKind state_bytes(const WorkerNeeds& needs, const Strategy& strategy, const FlatPlan& plan) {
  const auto part = [&plan](bool divided) {
    return sizeof(float) * (divided ? plan.shard_elements() : plan.elements);
  };
  const auto window = [&plan](std::size_t alive) {
    return sizeof(float) * collectives::plan_window(plan.buckets, alive).elements;
  };
  const auto optimized = strategy.divides_optimizer ? plan.shard_elements() : plan.elements;
  const auto kept = strategy.kept(optimized);
  BytesByKind bytes = needs.undivided;
  of(bytes, MemoryKind::parameters) +=
      (strategy.offloads_parameters ? sizeof(float) * kept : part(strategy.divides_parameters)) +
      sizeof(float) * needs.statistic_elements * statistics_kept(needs, strategy);
  of(bytes, MemoryKind::gradients) +=
      part(strategy.divides_gradients) +
      (needs.passes > 1 && !strategy.is_asynchronous() ? part(strategy.sums_shards()) : 0);
  of(bytes, MemoryKind::optimizer) += needs.optimizer_slots * sizeof(float) * kept +
                                      (needs.scales_loss ? sizeof(LossScaleState) : 0);
  if (strategy.offloads())
    of(bytes, MemoryKind::pinned) += HostShard::bytes(optimized - kept, needs.optimizer_slots);
  if (needs.snapshots)
    of(bytes, MemoryKind::pinned) +=
        sizeof(float) *
        ModelState::snapshot_elements(ModelState::saved_elements(plan, strategy, needs.saves_part),
                                      needs.statistic_elements, needs.optimizer_slots);
  of(bytes, MemoryKind::workspace) += scratch_bytes;
  of(bytes, MemoryKind::communication) +=
      (strategy.divides_parameters ? window(strategy.parameters_alive(plan.buckets.size())) : 0) +
      (strategy.divides_gradients ? window(strategy.gradients_alive(plan.buckets.size())) : 0) +
      wire_bytes(strategy, plan);
  return bytes;
}

/// Elements of the buckets that some collectives are of.
struct Travelling {
  std::uint64_t trained = 0;  ///< the others are neither reduced nor published
  std::uint64_t backward = 0; ///< below the first that is trained there is no backward pass
};

Travelling travelling(const WorkerNeeds& needs, const FlatPlan& plan) {
  const auto is_trained = [&needs](UnitId unit) {
    const auto i = static_cast<std::size_t>(unit);
    return needs.unit_elements[i] > 0 && (needs.unit_frozen.empty() || !needs.unit_frozen[i]);
  };
  Travelling elements;
  bool trained_below = false;
  for (auto bucket = plan.buckets.rbegin(); bucket != plan.buckets.rend(); ++bucket) {
    bool trained = false;
    for (auto unit = bucket->units.first; unit <= bucket->units.last; ++unit)
      trained = trained || is_trained(unit);
    trained_below = trained_below || trained;
    elements.trained += trained ? bucket->elements : 0;
    elements.backward += trained_below ? bucket->elements : 0;
  }
  return elements;
}

/// Elements of parameters that are gathered in a step. The bucket that ends forward begins
/// backward: it stays.
std::uint64_t gathered_elements(const Strategy& strategy, const FlatPlan& plan,
                                const Travelling& elements, std::uint64_t passes) {
  if (!strategy.divides_optimizer)
    return 0;
  if (!strategy.divides_parameters)
    return elements.trained;
  if (!strategy.reshard_after_forward)
    return plan.elements;
  return passes * (plan.elements + elements.backward - plan.buckets.front().elements);
}

std::uint64_t sent_bytes(const Strategy& strategy, const FlatPlan& plan, const Travelling& elements,
                         std::uint64_t passes) {
  const std::uint64_t gradients = size_of(strategy.reduced) * elements.trained;
  const auto world = static_cast<std::uint64_t>(strategy.world_size);
  if (strategy.root_only) // gradients to rank 0, parameters from it
    return (gradients * (world - 1) + sizeof(float) * elements.trained) / world;
  const std::uint64_t times = strategy.sums_shards() ? passes : 1;
  const std::uint64_t scattered = strategy.divides_optimizer ? times * gradients : 0;
  const auto gathered =
      size_of(strategy.gathered) * gathered_elements(strategy, plan, elements, passes);
  return ring(gathered + scattered, strategy.shards) +
         times * 2 *
             ring(gradients / static_cast<std::uint64_t>(strategy.shards), strategy.replicas());
}

/// At the end of a round: what is averaged, and a vote.
std::uint64_t round_bytes(const WorkerNeeds& needs, const Strategy& strategy, const FlatPlan& plan,
                          const Travelling& elements) {
  const bool optimizer = strategy.rounds.optimizer == collectives::OptimizerAtRound::averaged;
  const auto averaged = elements.trained + needs.statistic_elements +
                        (optimizer ? needs.optimizer_slots * plan.elements : 0);
  return 2 * ring(sizeof(float) * (averaged + (needs.votes ? 1 : 0)), needs.world_size);
}

/// Of its part, to its buddy.
std::uint64_t buddys_bytes(const WorkerNeeds& needs, const Strategy& strategy,
                           const Travelling& elements) {
  const bool adds = strategy.sums_shards() && needs.passes > 1;
  return size_of(adds ? DType::f32 : strategy.reduced) * elements.trained /
         static_cast<std::uint64_t>(strategy.shards);
}

/// With a vote: one value is summed up, and rank 0 sends its statistics.
std::uint64_t voting_bytes(const WorkerNeeds& needs) {
  if (!needs.votes)
    return 0;
  return 2 * ring(sizeof(float), needs.world_size) +
         sizeof(float) * needs.statistic_elements / static_cast<std::uint64_t>(needs.world_size);
}

/// Of each version all parameters once, of each slice all gradients; and of each step the
/// statistics of one to all.
std::uint64_t mail_bytes(const WorkerNeeds& needs, const FlatPlan& plan,
                         const Travelling& elements) {
  const auto passes = static_cast<std::uint64_t>(needs.passes);
  return ring(sizeof(float) *
                  (plan.elements + passes * elements.trained + needs.statistic_elements),
              needs.world_size);
}

std::string mebibytes(std::size_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

/// The strategy that divides everything, and so can offload everything.
constexpr auto all_divided = StrategyKind::fsdp;

std::string name_of(StrategyKind strategy, bool offloads) {
  return fmt::format("{}{}", to_string(strategy), offloads ? offload_suffix : "");
}

/// What `plan` may recommend, and why what comes before it is not enough.
struct Candidate {
  StrategyKind strategy;
  bool offloads;
  std::string_view reason;
};

std::vector<Candidate> candidates() {
  std::vector<Candidate> all;
  for (const auto& facts : strategies)
    if (!facts.reason.empty())
      all.push_back({facts.kind, false, facts.reason});
  all.push_back({all_divided, true,
                 "nothing fits on the devices alone: with strategy fsdp and parallel.offload: "
                 "parameters, optimizer state and parameters lie in the host's memory, and travel "
                 "to the device in each step"});
  return all;
}

/// Whether such a job can have the strategy, which must be no other word for an earlier one.
bool is_possible(const StrategyFacts& facts, int world_size, std::int64_t shard_group) {
  if (facts.alias || facts.alone != (world_size == 1))
    return false;
  return facts.group != ShardGroup::configured ||
         (world_size > shard_group && world_size % shard_group == 0);
}

} // namespace

std::string name_of(const ParallelConfig& parallel) {
  return name_of(parallel.strategy, parallel.offloads());
}

std::string Prediction::name() const {
  return name_of(strategy, offloads);
}

std::size_t Prediction::total() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::size_t{0}) - pinned();
}

std::size_t Prediction::pinned() const {
  return bytes[static_cast<std::size_t>(MemoryKind::pinned)];
}

Prediction predict(const WorkerNeeds& needs, const ParallelConfig& parallel) {
  const auto strategy = collectives::strategy_of(parallel, needs.world_size);
  const auto plan = collectives::plan_flat(
      collectives::wrap_units(parallel, needs.unit_elements, needs.unit_names), needs.unit_elements,
      static_cast<std::size_t>(strategy.shards));
  const auto passes = static_cast<std::uint64_t>(needs.passes);
  const auto elements = travelling(needs, plan);
  const bool buddies = has_buddies(needs, strategy, parallel);
  Prediction prediction{.strategy = parallel.strategy,
                        .offloads = parallel.offloads(),
                        .bytes = state_bytes(needs, strategy, plan)};
  if (strategy.is_asynchronous())
    prediction.sent =
        mail_bytes(needs, plan, elements) + (buddies ? buddys_bytes(needs, strategy, elements) : 0);
  else if (strategy.trains_apart())
    prediction.sent = round_bytes(needs, strategy, plan, elements) /
                      static_cast<std::uint64_t>(strategy.rounds.steps);
  else
    prediction.sent = sent_bytes(strategy, plan, elements, passes) +
                      (buddies ? buddys_bytes(needs, strategy, elements) : 0) +
                      2 * ring(passes * needs.statistics_bytes, needs.world_size) +
                      voting_bytes(needs);
  add_recovery(prediction.bytes, needs, strategy, plan, buddies);
  add_base(prediction.bytes, needs, strategy, plan);
  add_owner(prediction.bytes, needs, strategy, plan, parallel.stale.gradients == "compensated");
  prediction.fits =
      needs.host_capacity
          ? prediction.total() <= needs.capacity && prediction.pinned() <= *needs.host_capacity
          : prediction.total() + prediction.pinned() <= needs.capacity;
  return prediction;
}

std::vector<ParallelConfig> alternatives(const WorkerNeeds& needs, const ParallelConfig& parallel) {
  std::vector<ParallelConfig> all;
  for (const auto& facts : strategies) {
    if (!is_possible(facts, needs.world_size, parallel.shard_group))
      continue;
    auto like = parallel;
    like.strategy = facts.kind;
    like.offload = {};
    if (!like.divides_parameters())
      like.mixed_precision.parameters = "fp32"; // the others refuse it
    if (facts.policy != StepPolicy::every_step)
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
  auto bytes = least->bytes;
  const bool activations = of(bytes, MemoryKind::activations) * 2 > least->total();
  return {"", fmt::format("not even {} fits, with {} on each worker: {}", least->name(),
                          mebibytes(least->total()),
                          activations ? "most of it is activations, which train.recompute makes "
                                        "again, and train.accumulate or more workers make smaller"
                                      : "more workers divide it further")};
}

} // namespace troupe::engine
