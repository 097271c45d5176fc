/// The part of a job that outlives changes of membership: devices, the executables compiled for
/// them, and the model's state while no generation has it. training_graph needs no job.
#pragma once

#include "core/checkpoint/state_source.hpp"
#include "core/device/executable.hpp"
#include "nn/passes/format_input.hpp"
#include "training/job.hpp"
#include "training/platforms/platform.hpp"
#include "training/retained_state.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::training {

/// A device and its executables. Executables have no buffers until a generation binds its own.
struct CompiledWorker {
  int worker = 0; ///< index on this node, from 0
  std::shared_ptr<Device> device;
  /// Updates offloaded state: the device itself if it is the host. Null if nothing is offloaded.
  std::shared_ptr<Device> updater = nullptr;
  std::unique_ptr<Executable> train = nullptr;
  std::unique_ptr<Executable> evaluate = nullptr; ///< null if the job never evaluates
  nn::InputFormat input = {};                     ///< of both executables
};

struct CompiledJob {
  std::shared_ptr<const Job> job;
  /// Slices of a global batch. A generation assigns them to its ranks; executables take one at a
  /// time.
  std::int64_t slices = 1;
  std::shared_ptr<PlatformDevices> devices = nullptr;
  std::vector<std::shared_ptr<CompiledWorker>> compiled = {}; ///< by worker of this node
  /// The whole state. Building a generation takes it out of here; return_state and salvage_state
  /// put it back. It is in one place only.
  StateSourcePtr state = nullptr;
  /// This node's shards of the last generation's sharded state.
  RetainedStates retained = {};
  /// State of a new run: values are drawn from the seed when they are read.
  StateSourcePtr initial = nullptr;
  std::optional<metrics::RecomputeRecord> recompute = {}; ///< if configured
  double operations = 0; ///< FLOPs of a slice's matrix products, without recomputed ones
};

/// Callbacks of compile_job.
struct Preparing {
  std::function<void(const std::string&)> say = {}; ///< receives a line before each slow step
  std::function<bool()> cancelled = {};             ///< polled before each device is prepared
};

/// Creates the devices and compiles the model for them. `resume_point`: the state to resume from;
/// null starts from the seed. Blocks. Errors: invalid_input (settings contradict each other),
/// out_of_memory, unsupported (this machine lacks the device), stopped (cancelled).
Result<std::shared_ptr<CompiledJob>> compile_job(std::shared_ptr<const Job> job,
                                                 std::int64_t slices, StateSourcePtr resume_point,
                                                 const Preparing& preparing = {});

/// Returns the graph of a micro-batch, forward and backward, after all passes, as compile_job
/// compiles it for the first worker's device. Opens no data. Errors: unsupported if the machine
/// lacks the device; as nn::prepare_model.
Result<Graph> training_graph(const Config& config);

} // namespace troupe::training
