#include "training/prediction/memory_prediction.hpp"

#include "core/config/config.hpp"
#include "core/device/loss_scale.hpp"
#include "training/state/host_shard.hpp"
#include "training/state/model_state.hpp"
#include "training/step_plan.hpp"
#include "training/strategies/diloco/fragments.hpp"
#include "training/strategies/diloco/pseudo_gradient_codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace troupe::training {

namespace {

std::size_t& of(BytesByKind& bytes, MemoryKind kind) {
  return bytes[static_cast<std::size_t>(kind)];
}

/// Returns the bytes that each of n ranks sends in an all-gather or reduce-scatter of `bytes` in
/// total.
std::uint64_t ring(std::uint64_t bytes, int n) {
  return bytes * static_cast<std::uint64_t>(n - 1) / static_cast<std::uint64_t>(n);
}

/// Returns the send buffer's size if values are cast down: two bytes for each element of the
/// largest bucket.
std::size_t wire_bytes(const Strategy& strategy, const FlatPlan& plan) {
  if (strategy.gathered == DType::f32 && strategy.reduced == DType::f32)
    return 0;
  std::size_t largest = 0;
  for (const auto& bucket : plan.buckets)
    largest = std::max(largest, bucket.elements);
  return (largest + 1) / 2 * sizeof(float);
}

/// Returns the bytes of one value for each parameter, which ranks may divide.
std::size_t part_bytes(const FlatPlan& plan, bool divided) {
  return sizeof(float) * (divided ? plan.shard_elements() : plan.elements);
}

/// Returns the state values for each parameter: those of the optimizer, and of the outer optimizer.
std::size_t slots_of(const WorkerNeeds& needs, const Strategy& strategy) {
  return needs.optimizer_slots +
         (strategy.has_replica_groups() && strategy.diloco.momentum > 0 ? 1 : 0);
}

/// Returns by bucket whether it is frozen.
std::vector<bool> frozen_buckets(const WorkerNeeds& needs, const FlatPlan& plan) {
  const auto is_trained = [&needs](UnitId unit) {
    const auto i = static_cast<std::size_t>(unit);
    return needs.unit_elements[i] > 0 && (needs.unit_frozen.empty() || !needs.unit_frozen[i]);
  };
  std::vector<bool> frozen;
  for (const auto& bucket : plan.buckets) {
    bool trained = false;
    for (auto unit = bucket.units.first; unit <= bucket.units.last; ++unit)
      trained = trained || is_trained(unit);
    frozen.push_back(!trained);
  }
  return frozen;
}

/// Returns the number of buffers of all statistics.
std::size_t statistics_kept(const WorkerNeeds& needs, const Strategy& strategy) {
  return std::size_t{1} + (needs.keeps_statistics ? 1 : 0) +
         (!needs.votes && !strategy.is_asynchronous() ? 0
          : strategy.trains_apart()                   ? 1 // of the last common state
                                    : static_cast<std::size_t>(Statistics::turns(strategy)));
}

/// Whether each worker keeps a shard replica. Assumes an equal number of workers on each node.
bool has_shard_replicas(const WorkerNeeds& needs, const Strategy& strategy,
                        const ParallelConfig& parallel) {
  return needs.votes && parallel.replicate_shards != ReplicateShards::off && strategy.shards > 1 &&
         strategy.copies() == 1;
}

/// Adds a shard replica with its gradients and, on a GPU, copies of a prepared step's gradients for
/// each shard of this worker.
void add_recovery(BytesByKind& bytes, const WorkerNeeds& needs, const Strategy& strategy,
                  const FlatPlan& plan, bool shard_replicas) {
  const auto shard = plan.shard_elements();
  const auto kept = strategy.kept(shard);
  if (shard_replicas) {
    of(bytes, MemoryKind::parameters) += sizeof(float) * kept;
    of(bytes, MemoryKind::gradients) += sizeof(float) * shard;
    of(bytes, MemoryKind::optimizer) += sizeof(float) * slots_of(needs, strategy) * kept;
    if (strategy.offloads())
      of(bytes, MemoryKind::pinned) += HostShard::bytes(shard - kept, needs.optimizer_slots);
  }
  const bool on_host = !needs.host_capacity;
  if (on_host || !needs.votes || strategy.trains_apart() ||
      needs.workers_of_node >= strategy.shards)
    return;
  of(bytes, MemoryKind::gradients) += sizeof(float) * shard * (shard_replicas ? 2 : 1);
  of(bytes, MemoryKind::workspace) += sizeof(PreparedStep::Scratch);
}

/// Adds the last common state of workers that train apart, if the job may have to resume from it.
void add_base(BytesByKind& bytes, const WorkerNeeds& needs, const Strategy& strategy,
              const FlatPlan& plan) {
  if (!needs.votes || !strategy.trains_apart())
    return;
  of(bytes, MemoryKind::parameters) += part_bytes(plan, strategy.divides_parameters);
  of(bytes, MemoryKind::optimizer) +=
      slots_of(needs, strategy) * part_bytes(plan, strategy.divides_optimizer) +
      (needs.scales_loss ? sizeof(LossScaleState) : 0);
  of(bytes, MemoryKind::workspace) += sizeof(std::int64_t);
}

/// Adds the sums of in-flight steps, the versions that may be read, and messages in host-readable
/// memory: at most all gradients of a slice, and all parameters read for one. Predictions need a
/// copy of the shard and its state.
void add_owner(BytesByKind& bytes, const WorkerNeeds& needs, const Strategy& strategy,
               const FlatPlan& plan) {
  if (!strategy.is_asynchronous())
    return;
  const bool compensates = strategy.async.policy == StaleGradients::compensated;
  const auto shard = sizeof(float) * plan.shard_elements();
  const auto under_way = static_cast<std::size_t>(strategy.async.staleness) + 1;
  of(bytes, MemoryKind::gradients) += under_way * shard * (compensates ? 4 : 1);
  const auto versions = compensates ? under_way + 1 : 2;
  std::size_t predicted = 0; // one for each predicted step, and one in flight to each rank
  if (strategy.async.prediction) {
    predicted = static_cast<std::size_t>(strategy.async.staleness + strategy.world_size);
    of(bytes, MemoryKind::parameters) += shard;
    of(bytes, MemoryKind::optimizer) += needs.optimizer_slots * shard;
  }
  const auto travels = 2 * sizeof(float) * plan.elements + (versions + predicted) * shard;
  of(bytes, needs.host_capacity ? MemoryKind::pinned : MemoryKind::communication) += travels;
  of(bytes, MemoryKind::workspace) += needs.scales_loss ? sizeof(float) : 0;
}

std::vector<Fragment> fragments_of(const WorkerNeeds& needs, const Strategy& strategy,
                                   const FlatPlan& plan) {
  return training::fragments_of(plan, strategy, needs.unit_elements, frozen_buckets(needs, plan));
}

/// Returns the bytes of an encoded chunk.
std::size_t chunk_bytes(const Strategy& strategy, const Fragment& fragment) {
  return pseudo_gradient_bytes(strategy.diloco.compress, fragment.chunk);
}

/// Returns the bytes of a chunk of each fragment.
std::size_t all_chunks(const Strategy& strategy, const std::vector<Fragment>& fragments) {
  std::size_t bytes = 0;
  for (const auto& fragment : fragments)
    bytes += chunk_bytes(strategy, fragment);
  return bytes;
}

/// Returns the bytes of a chunk of each round that may be in flight at a time. A result is enqueued
/// before a step after which the next round may already end, so its memory may still be in use
/// then.
std::size_t chunks_under_way(const Strategy& strategy, const std::vector<Fragment>& fragments) {
  const auto count = static_cast<int>(fragments.size());
  std::size_t most = 0;
  for (int first = 0; first < count; ++first) {
    const auto begin = next_round(strategy, first, 0);
    const auto last = begin + strategy.diloco.overlap + 1;
    std::size_t bytes = 0;
    for (int other = 0; other < count; ++other)
      for (auto step = next_round(strategy, other, begin); step <= last;
           step += strategy.rounds.steps)
        bytes += chunk_bytes(strategy, fragments[static_cast<std::size_t>(other)]);
    most = std::max(most, bytes);
  }
  return most;
}

/// Returns an upper bound: a replica group's pseudo-gradients for all owners, and the sums that it
/// computes as an owner. Messages from replica groups of other nodes also take memory here;
/// messages within a node are not copied. If rounds do not wait for all groups, a late
/// pseudo-gradient stays in memory until the next round, and a late group has not read the sums of
/// the rounds that others are ahead.
std::size_t messages_under_way(const WorkerNeeds& needs, const Strategy& strategy,
                               const std::vector<Fragment>& fragments) {
  const int here = needs.votes ? needs.workers_of_node : needs.world_size;
  const auto replica_groups = static_cast<std::size_t>(strategy.replica_groups());
  const auto elsewhere =
      replica_groups - static_cast<std::size_t>(std::max(here / strategy.replica_group, 1));
  const auto changes = replica_groups + elsewhere, sums = 1 + elsewhere;
  const auto under_way = (changes + sums) * chunks_under_way(strategy, fragments);
  if (strategy.diloco.quorum.value_or(strategy.replica_groups()) >= strategy.replica_groups())
    return under_way;
  const auto ahead = static_cast<std::size_t>(
      rules_of(strategy.policy).window(strategy) / strategy.rounds.steps + 1);
  return under_way + (changes + ahead * sums) * all_chunks(strategy, fragments);
}

/// Adds the DiLoCo state of rank 0, which leads its replica group: the global parameters, and the
/// parameters sent since; rounding errors of its pseudo-gradients and of its chunks' sums; buffers
/// to compute both; and messages.
void add_outer(BytesByKind& bytes, const WorkerNeeds& needs, const Strategy& strategy,
               const FlatPlan& plan) {
  if (!strategy.has_replica_groups())
    return;
  const auto& diloco = strategy.diloco;
  const auto fragments = fragments_of(needs, strategy, plan);
  const auto replica_groups = static_cast<std::size_t>(strategy.replica_groups());
  const auto all = sizeof(float) * elements_of(fragments);
  const auto most = sizeof(float) * largest(fragments);
  of(bytes, MemoryKind::parameters) += all * (diloco.overlap > 0 ? 2 : 1);
  if (diloco.compress != Compression::none && diloco.error_feedback)
    of(bytes, MemoryKind::optimizer) += all + all / replica_groups;
  of(bytes, MemoryKind::communication) += 2 * (most + most / replica_groups);
  of(bytes, MemoryKind::workspace) += 2 * sizeof(double);
  of(bytes, needs.host_capacity ? MemoryKind::pinned : MemoryKind::communication) +=
      messages_under_way(needs, strategy, fragments);
}

BytesByKind state_bytes(const WorkerNeeds& needs, const Strategy& strategy, const FlatPlan& plan) {
  const auto window = [&plan](std::size_t alive) {
    return sizeof(float) * plan_window(plan.buckets, alive).elements;
  };
  const auto optimized = strategy.divides_optimizer ? plan.shard_elements() : plan.elements;
  const auto kept = strategy.kept(optimized);
  BytesByKind bytes = needs.undivided;
  of(bytes, MemoryKind::parameters) +=
      (strategy.offloads_parameters ? sizeof(float) * kept
                                    : part_bytes(plan, strategy.divides_parameters)) +
      sizeof(float) * needs.statistic_elements * statistics_kept(needs, strategy);
  of(bytes, MemoryKind::gradients) += part_bytes(plan, strategy.divides_gradients);
  if (needs.passes > 1 && needs.adds_gradients && strategy.keeps_gradients())
    of(bytes, MemoryKind::workspace) += sizeof(float) * std::ranges::max(needs.unit_elements);
  else if (needs.passes > 1 && !strategy.is_asynchronous())
    of(bytes, MemoryKind::gradients) += part_bytes(plan, strategy.sums_shards());
  of(bytes, MemoryKind::optimizer) += slots_of(needs, strategy) * sizeof(float) * kept +
                                      (needs.scales_loss ? sizeof(LossScaleState) : 0);
  if (strategy.offloads())
    of(bytes, MemoryKind::pinned) += HostShard::bytes(optimized - kept, needs.optimizer_slots);
  if (needs.snapshots)
    of(bytes, MemoryKind::pinned) +=
        sizeof(float) * snapshot_elements(plan, strategy, 0, needs.saves_shard,
                                          needs.statistic_elements, slots_of(needs, strategy));
  of(bytes, MemoryKind::workspace) += sizeof(StepScratch);
  of(bytes, MemoryKind::communication) +=
      (strategy.divides_parameters ? window(strategy.parameters_alive(plan.buckets.size())) : 0) +
      (strategy.divides_gradients ? window(strategy.gradients_alive(plan.buckets.size())) : 0) +
      wire_bytes(strategy, plan);
  return bytes;
}

/// Elements of the buckets that collectives transfer.
struct Travelling {
  std::uint64_t trained = 0;  ///< frozen buckets are neither reduced nor published
  std::uint64_t backward = 0; ///< no backward pass runs below the first trained bucket
};

Travelling travelling(const WorkerNeeds& needs, const FlatPlan& plan) {
  const auto frozen = frozen_buckets(needs, plan);
  Travelling elements;
  bool trained_below = false;
  for (auto number = plan.buckets.size(); number-- > 0;) {
    const auto bucket = plan.buckets[number].elements;
    trained_below = trained_below || !frozen[number];
    elements.trained += frozen[number] ? 0 : bucket;
    elements.backward += trained_below ? bucket : 0;
  }
  return elements;
}

/// Returns the elements of parameters that are gathered in a step. The last bucket of forward is
/// the first of backward: it stays gathered.
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
             ring(gradients / static_cast<std::uint64_t>(strategy.shards),
                  strategy.replica_group / strategy.shards);
}

/// Returns the bytes sent at the end of a round: averages, and a vote.
std::uint64_t round_bytes(const WorkerNeeds& needs, const Strategy& strategy, const FlatPlan& plan,
                          const Travelling& elements) {
  const bool optimizer = strategy.rounds.momentum == OptimizerAtRound::averaged;
  const auto averaged = elements.trained + needs.statistic_elements +
                        (optimizer ? needs.optimizer_slots * plan.elements : 0);
  return 2 * ring(sizeof(float) * (averaged + (needs.votes ? 1 : 0)), needs.world_size);
}

/// Returns the bytes that leaders of replica groups send in the rounds of all fragments. A leader
/// sends each other owner that owner's chunk of the pseudo-gradient, and each other group the sum
/// of its own chunk. If all ranks have whole parameters and each has updated a shard, the updated
/// parameters are also gathered.
std::uint64_t outer_bytes(const WorkerNeeds& needs, const Strategy& strategy, const FlatPlan& plan,
                          const Travelling& elements) {
  const std::uint64_t chunks = all_chunks(strategy, fragments_of(needs, strategy, plan));
  const auto others = static_cast<std::uint64_t>(strategy.replica_groups() - 1);
  const bool gathers = strategy.divides_optimizer && !strategy.divides_parameters;
  return 2 * others * chunks * static_cast<std::uint64_t>(strategy.shards) /
             static_cast<std::uint64_t>(strategy.replica_group) +
         (gathers ? ring(size_of(strategy.gathered) * elements.trained, strategy.shards) : 0);
}

/// Returns the bytes of a rank's shard sent to its replica.
std::uint64_t shard_replica_bytes(const WorkerNeeds& needs, const Strategy& strategy,
                                  const Travelling& elements) {
  const bool adds = strategy.sums_shards() && needs.passes > 1;
  return size_of(adds ? DType::f32 : strategy.reduced) * elements.trained /
         static_cast<std::uint64_t>(strategy.shards);
}

/// Returns the bytes of a vote: one value is summed, and rank 0 sends its statistics.
std::uint64_t voting_bytes(const WorkerNeeds& needs) {
  if (!needs.votes)
    return 0;
  return 2 * ring(sizeof(float), needs.world_size) +
         sizeof(float) * needs.statistic_elements / static_cast<std::uint64_t>(needs.world_size);
}

/// Returns the bytes of messages: all parameters once per version, and once more if slices use
/// predicted parameters; all gradients of each slice; and in each step one rank's statistics to all
/// ranks.
std::uint64_t message_bytes(const WorkerNeeds& needs, const Strategy& strategy,
                            const FlatPlan& plan, const Travelling& elements) {
  const auto passes = static_cast<std::uint64_t>(needs.passes);
  const std::uint64_t reads = strategy.async.prediction && passes > 1 ? 2 : 1;
  return ring(sizeof(float) *
                  (reads * plan.elements + passes * elements.trained + needs.statistic_elements),
              needs.world_size);
}

std::string name_of(StrategyKind strategy, bool offloads) {
  return fmt::format("{}{}", to_string(strategy), offloads ? offload_suffix : "");
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
  const auto strategy = strategy_of(parallel, needs.world_size);
  const auto plan = plan_flat(wrap_units(parallel, needs.unit_elements, needs.unit_names),
                              needs.unit_elements, static_cast<std::size_t>(strategy.shards));
  const auto passes = static_cast<std::uint64_t>(needs.passes);
  const auto elements = travelling(needs, plan);
  const bool shard_replicas = has_shard_replicas(needs, strategy, parallel);
  const std::uint64_t to_replica =
      shard_replicas ? shard_replica_bytes(needs, strategy, elements) : 0;
  Prediction prediction{.strategy = parallel.strategy,
                        .offloads = parallel.offloads(),
                        .bytes = state_bytes(needs, strategy, plan)};
  if (strategy.is_asynchronous())
    prediction.sent = message_bytes(needs, strategy, plan, elements) + to_replica;
  else if (strategy.has_replica_groups())
    prediction.sent = sent_bytes(strategy, plan, elements, passes) + to_replica +
                      outer_bytes(needs, strategy, plan, elements) /
                          static_cast<std::uint64_t>(strategy.rounds.steps);
  else if (strategy.trains_apart())
    prediction.sent = round_bytes(needs, strategy, plan, elements) /
                      static_cast<std::uint64_t>(strategy.rounds.steps);
  else
    prediction.sent = sent_bytes(strategy, plan, elements, passes) + to_replica +
                      2 * ring(passes * needs.statistics_bytes, needs.world_size) +
                      voting_bytes(needs);
  add_recovery(prediction.bytes, needs, strategy, plan, shard_replicas);
  add_base(prediction.bytes, needs, strategy, plan);
  add_owner(prediction.bytes, needs, strategy, plan);
  add_outer(prediction.bytes, needs, strategy, plan);
  prediction.fits =
      needs.host_capacity
          ? prediction.total() <= needs.capacity && prediction.pinned() <= *needs.host_capacity
          : prediction.total() + prediction.pinned() <= needs.capacity;
  return prediction;
}

} // namespace troupe::training
