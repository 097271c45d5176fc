/// What each strategy needs of every worker, before anything runs: bytes by kind, and bytes sent.
/// Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", SC
/// 2020: memory in section 5, communication in section 7.
#pragma once

#include "core/config/forward.hpp"
#include "core/config/strategies.hpp"
#include "core/device/device.hpp"
#include "core/error.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe::training {

using BytesByKind = std::array<std::size_t, memory_kinds>;

/// A worker's part of a job, whatever the strategy.
struct WorkerNeeds {
  int world_size = 1;
  std::vector<std::size_t> unit_elements; ///< parameters, as stored; fp32
  std::vector<std::string> unit_names;
  std::vector<bool> unit_frozen = {}; ///< all of its parameters (train.freeze); empty: none is
  std::size_t statistic_elements = 0;
  std::size_t optimizer_slots = 0; ///< values of state for each parameter
  std::int64_t passes = 1;         ///< a step
  bool keeps_statistics =
      false;          ///< of slice 0, beside those of others (data/slice_assignment.hpp); rank 0
  bool votes = false; ///< workers are of several nodes (ADR 26)
  int workers_of_node = 1; ///< where they are
  bool scales_loss = false;
  bool snapshots = false;   ///< what is saved is copied first, to go on while that is written
  bool saves_shard = false; ///< by every rank, of its part of a sharded checkpoint; else by rank 0
  std::uint64_t statistics_bytes = 0; ///< that ranks sum up in a pass: synchronized batch norms
  /// What no strategy divides: activations, workspace, batches, copies of parameters in the layouts
  /// that kernels like.
  BytesByKind undivided = {};
  std::size_t capacity = 0; ///< bytes of device memory for each worker
  /// Bytes of the host's memory for each worker; none: the device's is the host's.
  std::optional<std::size_t> host_capacity = {};
  std::string note = {}; ///< what the measurement lacked; empty: nothing
};

/// "zero1", "fsdp_offload"
std::string name_of(const ParallelConfig& parallel);

struct Prediction {
  StrategyKind strategy = StrategyKind::single;
  bool offloads = false;
  BytesByKind bytes = {};
  std::uint64_t sent = 0; ///< by a rank in a step, in the mean of all
  bool fits = false;

  std::string name() const;   ///< "zero1", "fsdp_offload"
  std::size_t total() const;  ///< bytes of device memory
  std::size_t pinned() const; ///< bytes of the host's memory, where state is offloaded
};

/// `parallel` says the strategy, and how units are wrapped and gathered. Memory is rank 0's: dp's
/// others have no optimizer, and teams' others may not speak for them.
Prediction predict(const WorkerNeeds& needs, const ParallelConfig& parallel);

/// Compiles the models for the first worker's device and makes its batches' memory, as a job
/// does, without a state. On the host nothing is allocated; where the batches do not fit into a
/// GPU, extrapolates from small ones. Where the data set cannot be opened, samples of its size
/// stand in for it (stand_in_data.hpp). Errors: as open_job and compile_job.
Result<WorkerNeeds> measure_needs(const Config& config);

} // namespace troupe::training
