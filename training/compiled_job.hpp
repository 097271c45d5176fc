/// What lives as long as the daemon, whoever is in the company: devices, what is compiled for them,
/// and the model's state while no generation has it.
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

/// What one worker computes with. Executables have no buffers until a generation binds its own.
struct CompiledWorker {
  int worker = 0; ///< of this node, from 0
  std::shared_ptr<Device> device;
  /// Where offloaded state is updated: the device itself, if that is the host; null where nothing
  /// is offloaded.
  std::shared_ptr<Device> updater = nullptr;
  std::unique_ptr<Executable> train = nullptr;
  std::unique_ptr<Executable> evaluate = nullptr; ///< null when it never happens
  nn::InputFormat input = {};                     ///< of both
};

struct CompiledJob {
  std::shared_ptr<const Job> job;
  /// Slices of a global batch. A generation deals them to its ranks; executables take one at a
  /// time.
  std::int64_t slices = 1;
  std::shared_ptr<PlatformDevices> devices = nullptr;
  std::vector<std::shared_ptr<CompiledWorker>> compiled = {}; ///< by worker of this node
  /// The generation that is formed takes it, and may leave it again (return_state): it is in one
  /// place only.
  StateSourcePtr state = nullptr;
  /// What this node has of the state where the last generation had divided it.
  RetainedStates retained = {};
  /// Of a run that begins, drawn from the seed as it is read.
  StateSourcePtr initial = nullptr;
  std::optional<metrics::RecomputeRecord> recompute = {}; ///< where it was asked for
  double operations = 0; ///< of a slice's products, forward and backward; none made again
};

/// What preparing tells and asks meanwhile.
struct Preparing {
  std::function<void(const std::string&)> say = {}; ///< told what takes long
  std::function<bool()> cancelled = {};             ///< asked before each device is prepared
};

/// Makes the devices and compiles. `beginning`: what the job goes on from; null: it begins afresh,
/// from the seed. Blocks. Errors: invalid_input (does not fit together), out_of_memory, unsupported
/// (a device that this machine lacks), stopped (cancelled).
Result<std::shared_ptr<CompiledJob>> compile_job(std::shared_ptr<const Job> job,
                                                 std::int64_t slices, StateSourcePtr resume_point,
                                                 const Preparing& preparing = {});

} // namespace troupe::training
