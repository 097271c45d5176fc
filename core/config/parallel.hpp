/// The config section parallel: how workers share a job.
#pragma once

#include "core/choice.hpp"
#include "core/config/strategies.hpp"
#include "core/graph/precision.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Units that zero3, fsdp and hsdp gather and release together.
struct WrapConfig {
  enum class Policy : std::uint8_t {
    per_block,
    size_based, ///< neighbours, until they have min_num_params
    by_name,    ///< the named units
  };
  Policy policy = Policy::per_block;
  std::int64_t min_num_params = 1'000'000;
  std::vector<std::string> units;

  bool operator==(const WrapConfig&) const = default;
};

template <>
inline constexpr auto choice_words<WrapConfig::Policy> = word_list("per_block", "size_based",
                                                                   "explicit");

/// Types of the parameters that zero3, fsdp and hsdp gather, of the values that any strategy sums
/// over workers, and of batch norm's statistics.
struct MixedPrecisionConfig {
  DType parameters = DType::f32;
  DType reduce = DType::f32;
  DType buffers = DType::f32;

  bool operator==(const MixedPrecisionConfig&) const = default;
};

/// The part of a worker's state that is kept in pinned host memory, where the host updates it.
struct OffloadConfig {
  enum class Target : std::uint8_t {
    none,
    optimizer,
    parameters, ///< and the optimizer's state
  };
  Target target = Target::none;
  double ratio = 1; ///< of the bytes that could be offloaded

  bool operator==(const OffloadConfig&) const = default;
};

template <>
inline constexpr auto choice_words<OffloadConfig::Target> = word_list("none", "optimizer",
                                                                      "parameters");

/// Whether each worker's shard has a replica on another host.
enum class ReplicateShards : std::uint8_t {
  automatic, ///< if the workers are on several hosts
  on,
  off,
};

template <>
inline constexpr auto choice_words<ReplicateShards> = word_list("auto", "on", "off");

/// Treatment of the optimizer state at the end of a round: each rank keeps its own, it is reset
/// to zero, or it is averaged over all ranks.
enum class OptimizerAtRound : std::uint8_t { kept, reset, averaged };

template <>
inline constexpr auto choice_words<OptimizerAtRound> = word_list("kept", "reset", "averaged");

/// parallel.local_sgd: training in rounds, between which workers do not synchronize.
struct LocalSgdConfig {
  std::int64_t steps = 16; ///< of a round
  std::int64_t after = 0;  ///< steps before the first round, in which workers synchronize every
                           ///< step
  OptimizerAtRound momentum = OptimizerAtRound::kept;

  bool operator==(const LocalSgdConfig&) const = default;
};

/// Encoding of a round's pseudo-gradients on the network; int8 and int4 as in
/// core/device/quantized.hpp.
enum class Compression : std::uint8_t { none, fp16, int8, int4 };

template <>
inline constexpr auto choice_words<Compression> = word_list("none", "fp16", "int8", "int4");

/// parallel.diloco: replica groups of workers, whose parameter changes in a round are
/// pseudo-gradients for an outer optimizer.
struct DilocoConfig {
  std::int64_t steps = 16;                ///< of a round
  std::int64_t group_size = 1;            ///< workers of a replica group, neighbours by rank
  StrategyKind inner = StrategyKind::ddp; ///< how they share their state
  double lr = 0.7;
  double momentum = 0.9;
  bool nesterov = true;
  std::int64_t fragments = 1; ///< of the parameters, each with its own rounds
  std::int64_t overlap = 0;   ///< steps made while a fragment is in flight
  Compression compress = Compression::none;
  bool error_feedback = true;            ///< adds the rounding error to the next round
  std::optional<std::int64_t> quorum;    ///< replica groups with which a round may end; unset: all
  std::chrono::milliseconds grace{1000}; ///< wait for the late ones after the quorum

  bool operator==(const DilocoConfig&) const = default;
};

/// Treatment of a stale gradient, whose parameters lacked steps. whole: full weight. divided:
/// weight 1 / staleness (Zhang et al., "Staleness-aware Async-SGD for Distributed Deep Learning",
/// IJCAI 2016). compensated: delay compensation (training/strategies/async/step_sum.hpp).
enum class StaleGradients : std::uint8_t { whole, divided, compensated };

template <>
inline constexpr auto choice_words<StaleGradients> = word_list("whole", "divided", "compensated");

/// parallel.async: training in which workers do not wait for each other.
struct AsyncConfig {
  std::int64_t staleness = 3; ///< most steps that a slice's parameters may lack
  StaleGradients policy = StaleGradients::whole;
  double compensation = 0.04;  ///< compensated: lambda
  double wait_tolerance = 0.3; ///< longest wait for a step, as a fraction of a slice's time
  bool prediction = false;     ///< predict the parameters after the steps in flight

  bool operator==(const AsyncConfig&) const = default;
};

struct ParallelConfig {
  StrategyKind strategy = StrategyKind::single;
  std::uint64_t bucket_size = 25u << 20;
  std::int64_t prefetch = 1; ///< buckets gathered ahead
  bool reshard_after_forward = true;
  bool no_sync = true;          ///< sum micro-batches before gradients are sent
  std::int64_t shard_group = 2; ///< hsdp: ranks that together hold one copy
  ReplicateShards replicate_shards = ReplicateShards::automatic;
  WrapConfig wrap;
  MixedPrecisionConfig mixed_precision;
  OffloadConfig offload;
  LocalSgdConfig local_sgd;
  DilocoConfig diloco;
  AsyncConfig async;

  bool offloads() const { return offload.target != OffloadConfig::Target::none; }
  bool has_replica_groups() const { return traits_of(strategy).policy == StepPolicy::diloco; }
  /// The state divided among workers; with replica groups, among the workers of one group.
  Divided divides() const {
    return traits_of(has_replica_groups() ? diloco.inner : strategy).divides;
  }
  bool divides_parameters() const { return divides() == Divided::parameters; }
  bool has_shard_groups() const { return traits_of(strategy).group == ShardGroup::configured; }
  /// The number of training workers is a multiple of this.
  std::int64_t group() const {
    return has_replica_groups() ? diloco.group_size : has_shard_groups() ? shard_group : 1;
  }
  /// Returns how many of `workers` sum their gradients. If workers do not divide into groups, all
  /// are one group, which saves the state.
  std::int64_t replica_group(std::int64_t workers) const {
    return has_replica_groups() && workers % diloco.group_size == 0 ? diloco.group_size : workers;
  }
  /// Returns how many of `workers` together hold one copy of the divided state; 1: nothing is
  /// divided. If workers do not divide into groups, all are one group.
  std::int64_t shards(std::int64_t workers) const {
    if (divides() == Divided::nothing)
      return 1;
    return has_shard_groups() && workers % shard_group == 0 ? shard_group : replica_group(workers);
  }

  bool operator==(const ParallelConfig&) const = default;
};

} // namespace troupe
