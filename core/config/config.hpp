/// The config file as typed structs: how and where a job runs. training.hpp has what is trained,
/// cluster.hpp the other nodes. keys.cpp has the rules of single keys, validate.cpp those between
/// keys; some sections have separate files for them (keys_cluster.cpp, validate_data.cpp).
#pragma once

#include "core/config/cluster.hpp"
#include "core/config/strategies.hpp"
#include "core/config/training.hpp"
#include "core/units.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

/// GradScaler's arguments, with its defaults (loss_scale.hpp).
struct LossScaleConfig {
  bool enabled = true; ///< only amp_fp16 scales its loss
  double initial = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 2000; ///< steps

  bool operator==(const LossScaleConfig&) const = default;
};

struct PrecisionConfig {
  std::string mode = "fp32"; ///< precision.hpp
  LossScaleConfig loss_scale;

  bool operator==(const PrecisionConfig&) const = default;
};

/// Units that zero3, fsdp and hsdp gather and release together.
struct WrapConfig {
  std::string policy = "per_block";        ///< per_block, size_based, explicit
  std::int64_t min_num_params = 1'000'000; ///< size_based
  std::vector<std::string> units;          ///< explicit

  bool operator==(const WrapConfig&) const = default;
};

/// Types of the parameters that zero3, fsdp and hsdp gather, of the values that any strategy sums
/// over workers, and of batch norm's statistics: fp32, bf16, fp16.
struct MixedPrecisionConfig {
  std::string parameters = "fp32";
  std::string reduce = "fp32";
  std::string buffers = "fp32";

  bool operator==(const MixedPrecisionConfig&) const = default;
};

/// The part of a worker's state that is kept in pinned host memory, where the host updates it.
struct OffloadConfig {
  std::string target = "none"; ///< none, optimizer, parameters (and the optimizer's state)
  double ratio = 1;            ///< of the bytes that could be offloaded

  bool operator==(const OffloadConfig&) const = default;
};

/// Training in rounds, between which workers do not synchronize (local_sgd), or replica groups of
/// workers do not (diloco).
struct RoundsConfig {
  std::int64_t local_steps = 16; ///< steps of a round
  std::int64_t after = 0;        ///< steps before the first round, in which workers synchronize
                                 ///< every step
  std::string momentum = "kept"; ///< at the end of a round: kept, reset, averaged

  bool operator==(const RoundsConfig&) const = default;
};

/// Replica groups, whose parameter changes in a round are pseudo-gradients for an outer optimizer
/// (diloco).
struct OuterConfig {
  std::int64_t team = 1;     ///< workers of a replica group, neighbours by rank
  std::string inner = "ddp"; ///< how they share their state: ddp, zero1, zero2, zero3
  double lr = 0.7;
  double momentum = 0.9;
  bool nesterov = true;
  std::int64_t fragments = 1;            ///< of the parameters, each with its own rounds
  std::int64_t overlap = 0;              ///< steps made while a fragment is in flight
  std::string compress = "none";         ///< none, fp16, int8, int4
  bool error_feedback = true;            ///< adds the rounding error to the next round
  std::optional<std::int64_t> quorum;    ///< replica groups with which a round may end; unset: all
  std::chrono::milliseconds grace{1000}; ///< wait for the late ones after the quorum

  bool operator==(const OuterConfig&) const = default;
};

/// Training in which workers do not wait for each other (async).
struct StaleConfig {
  std::int64_t staleness = 3;      ///< most steps that a slice's parameters may lack
  std::string gradients = "whole"; ///< treatment of stale gradients: whole, divided, compensated
  double compensation = 0.04;      ///< compensated: lambda
  double patience = 0.3;           ///< longest wait for a step, as a fraction of a slice's time
  bool prediction = false;         ///< predict the parameters after the steps in flight

  bool operator==(const StaleConfig&) const = default;
};

struct ParallelConfig {
  StrategyKind strategy = StrategyKind::single;
  std::uint64_t bucket_size = 25u << 20;
  std::int64_t prefetch = 1;                   ///< buckets gathered ahead
  std::optional<std::int64_t> max_units_alive; ///< gathered at a time
  bool reshard_after_forward = true;
  bool no_sync = true;          ///< sum micro-batches before gradients are sent
  std::int64_t shard_group = 2; ///< hsdp: ranks that together hold one copy
  std::string buddies = "auto"; ///< auto, on, off: replicas of shards on other hosts
  WrapConfig wrap;
  MixedPrecisionConfig mixed_precision;
  OffloadConfig offload;
  RoundsConfig rounds;
  OuterConfig outer;
  StaleConfig stale;

  bool offloads() const { return offload.target != "none"; }
  bool has_replica_groups() const { return traits_of(strategy).policy == StepPolicy::diloco; }
  /// The state divided among workers; with replica groups, among the workers of one group.
  Divided divides() const {
    return has_replica_groups()
               ? traits_of(strategy_named(outer.inner).value_or(StrategyKind::ddp)).divides
               : traits_of(strategy).divides;
  }
  bool divides_parameters() const { return divides() == Divided::parameters; }
  bool has_shard_groups() const { return traits_of(strategy).group == ShardGroup::configured; }
  /// The number of training workers is a multiple of this.
  std::int64_t group() const {
    return has_replica_groups() ? outer.team : has_shard_groups() ? shard_group : 1;
  }
  /// Returns how many of `workers` sum their gradients: the size of a replica group. If workers do
  /// not divide into groups, all are one group, which saves the state.
  std::int64_t team(std::int64_t workers) const {
    return has_replica_groups() && workers % outer.team == 0 ? outer.team : workers;
  }
  /// Returns how many of `workers` together hold one copy of the divided state; 1: nothing is
  /// divided. If workers do not divide into groups, all are one group.
  std::int64_t shards(std::int64_t workers) const {
    if (divides() == Divided::nothing)
      return 1;
    return has_shard_groups() && workers % shard_group == 0 ? shard_group : team(workers);
  }

  bool operator==(const ParallelConfig&) const = default;
};

struct DevicesConfig {
  std::string kind = "auto"; ///< auto, cpu, cuda
  std::int64_t count = 1;    ///< workers on this node
  std::int64_t threads_per_worker =
      0;                          ///< 0: the cores that this process may run on, divided by count
  std::string engine = "fastest"; ///< fastest, interpreter (the slow reference, for checking)
  std::string fusion = "full";    ///< CUDA: full, basic (for comparing)

  bool operator==(const DevicesConfig&) const = default;
};

struct CheckpointConfig {
  Interval every = {Interval::Unit::epochs, 1}; ///< "N epochs", "N steps", "never"
  std::int64_t keep = 3;
  std::string resume = "auto"; ///< auto, never, or a checkpoint's path
  std::string state = "full";  ///< full, or sharded: every rank writes its shard
  std::string best = "none";   ///< none, or the criterion of the best checkpoint: accuracy, loss

  bool is_sharded() const { return state == "sharded"; }

  bool operator==(const CheckpointConfig&) const = default;
};

struct MetricsConfig {
  std::string listen = "127.0.0.1:9401";    ///< "off", or HOST:PORT; port 0 takes a free one
  std::chrono::milliseconds linger{15000};  ///< longest time that a finished run waits for
                                            ///< Prometheus to scrape it
  std::optional<std::string> push;          ///< URL of a Pushgateway; not set: none
  std::optional<std::string> password_file; ///< of the page; not set: only this host may open it
  bool reads = false; ///< records the parameter version of each gradient in events.jsonl

  bool operator==(const MetricsConfig&) const = default;
};

struct Config {
  RunConfig run;
  ModelConfig model;
  DataConfig data;
  TrainConfig train;
  PrecisionConfig precision;
  ParallelConfig parallel;
  DevicesConfig devices;
  ClusterConfig cluster;
  CheckpointConfig checkpoint;
  MetricsConfig metrics;
  /// Lines for the user that load_config adds where values differ from the file's.
  std::vector<std::string> notes = {};

  /// Workers of all nodes. Assumes that each joining node has as many as this one.
  std::int64_t workers() const { return devices.count * cluster.min_nodes; }
  /// Slices of a global batch for a job that starts with this many workers.
  std::int64_t slices(std::int64_t first_workers) const {
    return data.slices.value_or(first_workers * train.accumulate);
  }
  std::int64_t slices() const { return slices(workers()); }

  bool operator==(const Config&) const = default;
};

} // namespace troupe
