/// All passes in the right order: from a config to what Device::compile takes.
#pragma once

#include "models/models.hpp"
#include "passes/fuse.hpp"
#include "passes/plan_memory.hpp"

#include <string>
#include <vector>

namespace troupe::nn {

enum class Purpose : std::uint8_t {
  training,  ///< forward and backward, batch norm with the batch's statistics
  evaluation ///< forward alone, batch norm with the running ones
};

struct PassOptions {
  FusePatterns fuse = FusePatterns::none(); ///< what the engine can run (its documentation says)
  bool amp_bf16 = false;
  PlanOptions memory; ///< its `keep` list also keeps tensors from being fused away
};

struct PreparedModel {
  Graph graph;
  MemoryPlan memory; ///< give it to CompileOptions::memory
  std::size_t memory_lower_bound_bytes = 0;
};

/// fuse, autocast, autodiff (when training), plan_memory, on a forward graph that was built for
/// this purpose. The result is validated.
Result<PreparedModel> run_passes(const Graph& forward, Purpose purpose, const PassOptions& options);

/// build_model and run_passes. `batch` is the micro-batch of one worker. Training and evaluation
/// have the same parameters and statistics, in the same order. Errors: as build_model; unsupported
/// for a precision other than fp32 and amp_bf16.
Result<PreparedModel> prepare_model(const Config& config, std::int64_t batch, Purpose purpose,
                                    PassOptions options);

} // namespace troupe::nn
