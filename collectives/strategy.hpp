/// How the ranks of a job share its state (parallel.strategy), as facts that the rest acts on.
#pragma once

#include "collectives/flat_plan.hpp"
#include "core/config/forward.hpp"
#include "core/config/strategies.hpp"
#include "core/graph/tensor.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace troupe::collectives {

/// What becomes of the optimizer's state where a round ends: each rank keeps its own, it is zero
/// again, or that of all ranks is averaged.
enum class OptimizerAtRound : std::uint8_t { kept, reset, averaged };

/// In which the changes of a round travel; the last two as quantized.hpp says.
enum class Compression : std::uint8_t { none, fp16, int8, int4 };

/// ZeRO's stages (Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion
/// Parameter Models", SC 2020, section 5) divide the optimizer's state, then gradients too, then
/// parameters too. Ranks [k * shards, (k + 1) * shards) hold one copy of the state together; the
/// copies are replicas of each other.
struct Strategy {
  /// Where ranks do not meet in every step.
  struct Rounds {
    std::int64_t steps = 1; ///< of a round
    std::int64_t after = 0; ///< steps before the first one
    OptimizerAtRound optimizer = OptimizerAtRound::kept;
  };

  /// Where teams train apart, what becomes of what each of them has changed in a round.
  struct Outer {
    float lr = 1, momentum = 0;
    bool nesterov = false;
    int fragments = 1;
    std::int64_t overlap = 0; ///< steps between a fragment's sending and its return
    Compression compression = Compression::none;
    bool error_feedback = true;
    std::optional<int> quorum; ///< teams; none: all
    std::chrono::milliseconds grace{0};
  };

  int world_size = 1;
  /// Ranks [k * team, (k + 1) * team) sum their gradients: all, but where teams train apart.
  int replica_group = 1;
  int shards = 1; ///< 1: nothing is divided
  bool divides_optimizer = false, divides_gradients = false, divides_parameters = false;
  /// DataParallel: rank 0 alone has an optimizer; it is sent gradients, and sends parameters.
  bool root_only = false;
  StepPolicy policy = StepPolicy::every_step; ///< step_policy.hpp
  Rounds rounds = {};
  Outer outer = {};
  std::int64_t staleness = 0; ///< steps that parameters may lack, where ranks are asynchronous
  bool predicts = false;      ///< these are read as steps under way will leave them
  /// Gathered parameters go after forward, and are gathered again for backward.
  bool reshard_after_forward = true;
  /// Micro-batches are summed where they are made and gradients travel once a step. Else divided
  /// gradients travel after each micro-batch, and nobody needs memory for the whole sum.
  bool communicates_once = true;
  DType gathered = DType::f32; ///< in which divided parameters travel
  DType reduced = DType::f32;  ///< in which gradients travel
  /// Part of the optimizer's state that lies in the host's memory, and of the parameters too; 0:
  /// none
  double offloaded = 0;
  bool offloads_parameters = false;
  /// Buckets whose parameters are gathered, or whose gradients are under way, at a time.
  std::size_t alive = 2;

  /// Whether each rank may have a state of its own for a while.
  bool trains_apart() const {
    return has_replica_groups() || (policy == StepPolicy::local_sgd && world_size > 1);
  }
  /// Whether ranks train in teams, with an outer optimizer over them; there may be one team.
  bool has_replica_groups() const { return policy == StepPolicy::diloco; }
  int replica_groups() const { return world_size / replica_group; }
  /// Whether a rank speaks for its team, of its shard, where teams meet.
  bool leads_replica_group(int rank) const { return rank % replica_group < shards; }
  /// Whether no rank waits for another one, unless it would be more than `staleness` steps ahead.
  bool is_asynchronous() const { return policy == StepPolicy::async && world_size > 1; }
  /// Whether divided gradients travel after each micro-batch, and their sum is a rank's shard.
  bool sums_shards() const { return divides_gradients && !communicates_once; }
  int shard_of(int rank) const { return rank % shards; }
  bool offloads() const { return offloaded > 0; }
  /// How many of `elements`, a rank's part of the flat space, stay on its device: those at its
  /// front. Backward completes the end first, and forward needs it last, so what lies there has the
  /// most time to be updated by the host.
  std::size_t kept(std::size_t elements) const;
  int copies() const { return world_size / shards; }
  /// How many of `buckets` may have their parameters gathered at a time.
  std::size_t parameters_alive(std::size_t buckets) const {
    return reshard_after_forward ? alive : buckets;
  }
  /// How many of them may have fresh gradients at a time.
  std::size_t gradients_alive(std::size_t buckets) const {
    return is_asynchronous() ? buckets : alive;
  }
};

/// A single rank divides nothing, whatever the config says; but parameters that are offloaded are
/// gathered, by a rank alone too.
Strategy strategy_of(const ParallelConfig& parallel, int world_size);

/// What travels together: by bucket_size, or by parallel.wrap where parameters are divided and
/// gathered bucket by bucket.
std::vector<UnitRange> wrap_units(const ParallelConfig& parallel,
                                  std::span<const std::size_t> unit_elements,
                                  std::span<const std::string> unit_names);

} // namespace troupe::collectives
