/// Predicts a worker's memory by kind and the bytes it sends, for each strategy, before anything
/// runs. Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter
/// Models", SC 2020: memory in section 5, communication in section 7.
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

/// A worker's needs that do not depend on the strategy.
struct WorkerNeeds {
  int world_size = 1;
  std::vector<std::size_t> unit_elements; ///< parameters in the device's layout, with padding; fp32
  std::vector<std::string> unit_names;
  std::vector<bool> unit_frozen = {}; ///< by unit (train.freeze); empty: none
  std::size_t statistic_elements = 0;
  std::size_t optimizer_slots = 0; ///< values of state for each parameter
  std::int64_t passes = 1;         ///< per step
  bool keeps_statistics = false; ///< rank 0 saves slice 0's statistics (data/slice_assignment.hpp)
  bool votes = false;            ///< workers are on several nodes (ADR 26)
  int workers_of_node = 1;       ///< workers on the same node
  bool adds_gradients = false;   ///< CompileOptions::adds_gradients, if the strategy permits it
  bool scales_loss = false;
  bool snapshots = false;   ///< a checkpoint is copied first and written while training continues
  bool saves_shard = false; ///< every rank saves its part of the state; false: rank 0 saves all
  std::uint64_t statistics_bytes = 0; ///< summed over ranks in a pass: synchronized batch norms
  /// Memory that no strategy divides: activations, workspace, batches, copies of parameters in
  /// kernel layouts.
  BytesByKind undivided = {};
  std::size_t capacity = 0; ///< bytes of device memory for each worker
  /// Bytes of host memory for each worker; empty if device and host share one memory.
  std::optional<std::size_t> host_capacity = {};
  std::string note = {}; ///< inputs that the measurement lacked; empty: none
};

/// Returns, for example, "zero1" or "fsdp_offload".
std::string name_of(const ParallelConfig& parallel);

struct Prediction {
  StrategyKind strategy = StrategyKind::single;
  bool offloads = false;
  BytesByKind bytes = {};
  std::uint64_t sent = 0; ///< by a rank in a step, averaged over ranks
  bool fits = false;

  std::string name() const;   ///< for example "zero1", "fsdp_offload"
  std::size_t total() const;  ///< bytes of device memory
  std::size_t pinned() const; ///< bytes of host memory, if state is offloaded
};

/// `parallel` gives the strategy, and how units are wrapped and gathered. Predicts rank 0's memory:
/// with dp other ranks have no optimizer, and in replica groups other ranks may not be leaders.
Prediction predict(const WorkerNeeds& needs, const ParallelConfig& parallel);

/// Compiles the models for the first worker's device and allocates the memory of its batches, as a
/// job does, without a state. Allocates nothing on the host. If the batches do not fit into a GPU,
/// extrapolates from small ones. If the data set cannot be opened, uses stand-in samples of its
/// size (stand_in_data.hpp). Errors: as open_job and compile_job.
Result<WorkerNeeds> measure_needs(const Config& config);

} // namespace troupe::training
