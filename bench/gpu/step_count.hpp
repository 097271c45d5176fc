/// What a step of one worker on a CUDA device moves, computes and launches, without the device:
/// docs/gpu-count.md.
#pragma once

#include "core/config/config.hpp"
#include "gpu/lowering/plan_registry.hpp"
#include "gpu/traffic.hpp"

#include <string>
#include <vector>

namespace troupe::bench {

/// A node of the graph, or what the step enqueues before and behind it.
struct CountedWork {
  std::string kind; ///< the op with what is fused to it, or the function of the device
  std::string what; ///< the tensor that it writes first, or the unit
  std::string unit;
  gpu::Traffic traffic;
};

/// In the order in which it is enqueued, as bench_gpu_train_step and a job's only worker do.
/// Errors: unsupported for several workers or micro-batches a step, and where cuDNN has no engine;
/// as nn::prepare_model.
Result<std::vector<CountedWork>> count_step(const Config& config, gpu::PlanRegistry& plans);

gpu::Traffic total(const std::vector<CountedWork>& works);

} // namespace troupe::bench
