/// Chooses the plan for an operation graph: the cached one, else the fastest candidate, else the
/// first candidate.
#pragma once

#include "gpu/cudnn/plan_cache.hpp"

#include <functional>

namespace troupe::gpu::cudnn {

/// Device memory that candidates run on. Its contents are overwritten.
struct MeasuringBuffers {
  std::span<const Binding> bindings;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

/// Measures as least_microseconds() does.
Result<double> measure_microseconds(const Target& target, const Plan& plan, cudaStream_t stream,
                                    const MeasuringBuffers& buffers);

/// Returns the microseconds of each plan, or the reason why it did not run. Errors: any failure
/// that prevents all measurements; out_of_memory does not mean that an engine rejects the graph.
using MeasurePlans = std::function<Result<std::vector<Result<double>>>(std::span<const Plan>)>;

/// `cache` may be null. With `measure`, measures policy.candidates plans once each and keeps the
/// fastest. Without it, or if policy.deterministic (a choice by measurement would make results
/// depend on timing), takes the first proposal of the heuristics. Stores the choice in the cache,
/// or the fact that no plan exists. A cache that cannot be written is not an error
/// (ChosenPlan::not_stored). A measurement replaces a cached entry that was not measured.
Result<ChosenPlan> choose_plan(const Target& target, const OperationGraph& graph,
                               const PlanPolicy& policy, const PlanCache* cache,
                               const MeasurePlans& measure = {});

} // namespace troupe::gpu::cudnn
