/// How the ranks of a job share its state (parallel.strategy), as traits that other code acts on.
#pragma once

#include "core/config/async.hpp"
#include "core/config/diloco.hpp"
#include "core/config/forward.hpp"
#include "core/config/local_sgd.hpp"
#include "core/config/strategies.hpp"
#include "core/graph/tensor.hpp"
#include "training/flat_plan.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::training {

/// ZeRO's stages (Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion
/// Parameter Models", SC 2020, section 5) shard the optimizer state, then also gradients, then also
/// parameters. Ranks [k * shards, (k + 1) * shards) hold one copy of the state together; the copies
/// are replicas of each other.
struct Strategy {
  int world_size = 1;
  /// Ranks [k * replica_group, (k + 1) * replica_group) sum their gradients. Without DiLoCo, all
  /// ranks are one group.
  int replica_group = 1;
  int shards = 1; ///< 1: nothing is sharded
  bool divides_optimizer = false, divides_gradients = false, divides_parameters = false;
  /// DataParallel: only rank 0 has an optimizer; the others send it gradients and receive
  /// parameters.
  bool root_only = false;
  StepPolicy policy = StepPolicy::every_step; ///< step_plan.hpp
  LocalSgdConfig rounds = {};                 ///< of local SGD; DiLoCo sets only `steps`
  DilocoConfig diloco = {}; ///< the outer optimizer, which applies pseudo-gradients of a round
  AsyncConfig async = {};
  /// Frees gathered parameters after forward, and gathers them again for backward.
  bool reshard_after_forward = true;
  /// Sums micro-batches locally and sends gradients once per step. Otherwise, sharded gradients
  /// travel after each micro-batch, and no rank needs memory for the whole sum.
  bool communicates_once = true;
  DType gathered = DType::f32; ///< type in which sharded parameters travel
  DType reduced = DType::f32;  ///< type in which gradients travel
  /// Share of the optimizer state that lies in host memory, and of the parameters if
  /// offloads_parameters; 0: none.
  double offloaded = 0;
  bool offloads_parameters = false;
  /// Most buckets with gathered parameters, or with gradients in flight, at a time.
  std::size_t alive = 2;

  /// Whether ranks may have different states between synchronizations.
  bool trains_apart() const {
    return has_replica_groups() || (policy == StepPolicy::local_sgd && world_size > 1);
  }
  /// Whether ranks train in replica groups with an outer optimizer; there may be only one group.
  bool has_replica_groups() const { return policy == StepPolicy::diloco; }
  int replica_groups() const { return world_size / replica_group; }
  /// Whether the rank represents its replica group, for its shard, when groups synchronize.
  bool leads_replica_group(int rank) const { return rank % replica_group < shards; }
  /// Whether ranks never wait for each other, except to stay within `async.staleness` steps.
  bool is_asynchronous() const { return policy == StepPolicy::async && world_size > 1; }
  /// Whether sharded gradients travel after each micro-batch, so that a rank sums only its shard.
  bool sums_shards() const { return divides_gradients && !communicates_once; }
  /// Whether a rank's gradients of the whole model stay in memory from a step's first pass to its
  /// last.
  bool keeps_gradients() const { return !divides_gradients && !is_asynchronous(); }
  int shard_of(int rank) const { return rank % shards; }
  bool offloads() const { return offloaded > 0; }
  /// Returns how many of `elements`, a rank's shard of the flat space, stay on its device: those at
  /// the front. Backward completes the end first, and forward needs it last, so the host has the
  /// most time to update elements at the end.
  std::size_t kept(std::size_t elements) const;
  int copies() const { return world_size / shards; }
  /// Returns how many of `buckets` may have gathered parameters at a time.
  std::size_t parameters_alive(std::size_t buckets) const {
    return reshard_after_forward ? alive : buckets;
  }
  /// Returns how many of `buckets` may have fresh gradients at a time.
  std::size_t gradients_alive(std::size_t buckets) const {
    return is_asynchronous() ? buckets : alive;
  }
};

/// Returns the strategy of the config. A single rank shards nothing, whatever the config says, but
/// it gathers offloaded parameters.
Strategy strategy_of(const ParallelConfig& parallel, int world_size);

/// Groups units into the ranges that travel together: by bucket_size, or by parallel.wrap if
/// parameters are sharded and gathered bucket by bucket. Splits the ranges at DiLoCo's fragments.
std::vector<UnitRange> wrap_units(const ParallelConfig& parallel,
                                  std::span<const std::size_t> unit_elements,
                                  std::span<const std::string> unit_names);

} // namespace troupe::training
