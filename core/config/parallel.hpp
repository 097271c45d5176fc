/// The config section parallel: how workers share a job.
#pragma once

#include "core/choice.hpp"
#include "core/config/async.hpp"
#include "core/config/diloco.hpp"
#include "core/config/local_sgd.hpp"
#include "core/config/strategies.hpp"
#include "core/graph/precision.hpp"

#include <cstdint>
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
