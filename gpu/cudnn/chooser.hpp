/// From an operation graph to the plan that runs: out of the cache, else the fastest of the
/// candidates, else the first.
#pragma once

#include "gpu/cudnn/plan_cache.hpp"

#include <functional>

namespace troupe::gpu::cudnn {

/// Device memory that candidates may run on: it is overwritten.
struct MeasuringBuffers {
  std::span<const Binding> bindings;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

/// As least_microseconds().
Result<double> measure_microseconds(const Target& target, const Plan& plan, cudaStream_t stream,
                                    const MeasuringBuffers& buffers);

/// Microseconds of each plan, or why it did not run. Errors: whatever keeps all of them from being
/// measured; out_of_memory says nothing about engines.
using MeasurePlans = std::function<Result<std::vector<Result<double>>>(std::span<const Plan>)>;

/// `cache` may be null. With `measure` each of policy.candidates is measured once, and the fastest
/// kept; without, or where policy.deterministic (a measurement would decide about bits), the first
/// that heuristics propose. What was chosen is stored, and so is that there is no plan; a cache
/// that cannot be written is no error (ChosenPlan::not_stored). An entry that was not measured
/// gives way to a measurement.
Result<ChosenPlan> choose_plan(const Target& target, const OperationGraph& graph,
                               const PlanPolicy& policy, const PlanCache* cache,
                               const MeasurePlans& measure = {});

} // namespace troupe::gpu::cudnn
