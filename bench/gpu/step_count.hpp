/// Memory traffic, operations and launches of one worker's step on a CUDA device, counted without
/// the device: docs/gpu-count.md.
#pragma once

#include "core/config/config.hpp"
#include "gpu/lowering/plan_registry.hpp"
#include "gpu/traffic.hpp"

#include <string>
#include <vector>

namespace troupe::bench {

/// A node of the graph, or work that the step enqueues before or after the graph.
struct CountedWork {
  std::string kind; ///< the op with what is fused into it, or the device function
  std::string what; ///< the first tensor that it writes, or the unit
  std::string unit;
  gpu::Traffic traffic; ///< of all slices of the step
};

/// Returns the work in the order in which it is enqueued, as bench_gpu_train_step and the only
/// worker of a job enqueue it. Errors: unsupported for several workers, for slices of different
/// sizes, and if cuDNN has no engine; those of nn::prepare_model.
Result<std::vector<CountedWork>> count_step(const Config& config, gpu::PlanRegistry& plans);

gpu::Traffic total(const std::vector<CountedWork>& works);

} // namespace troupe::bench
