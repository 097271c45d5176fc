/// From an operation graph to the plan that runs: out of the cache, else the fastest of the
/// candidates, else the first.
#pragma once

#include "plan_cache.hpp"

namespace troupe::gpu::cudnn {

/// Device memory that candidates may run on: it is overwritten.
struct MeasuringBuffers {
  std::span<const Binding> bindings;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

/// The median time of `runs` runs after two that do not count; waits for the stream.
Result<double> measure_microseconds(const Target& target, const Plan& plan, cudaStream_t stream,
                                    const MeasuringBuffers& buffers, int runs = 5);

/// `cache` may be null. With `buffers` (a GPU only) each of policy.candidates is measured once, and
/// the fastest kept; without, the first that heuristics propose. What was chosen is stored; a cache
/// that cannot be written is no error. An entry that was not measured gives way to a measurement.
Result<ChosenPlan> choose_plan(const Target& target, const OperationGraph& graph,
                               const PlanPolicy& policy, const PlanCache* cache,
                               cudaStream_t stream = nullptr,
                               const MeasuringBuffers* buffers = nullptr);

} // namespace troupe::gpu::cudnn
