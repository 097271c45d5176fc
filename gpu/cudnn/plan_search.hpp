/// Searches for engines that can run an operation graph, in the order of cuDNN's heuristics.
#pragma once

#include "gpu/cudnn/plan.hpp"

#include <vector>

namespace troupe::gpu::cudnn {

struct PlanPolicy {
  bool deterministic = false; ///< only engines that give bitwise equal results
  /// Allows tensor cores for fp32 tensors, which rounds products to TF32. Other types always use
  /// them.
  bool tf32 = false;
  /// Largest workspace that an engine may need, in addition to the graph's scratch tensors.
  std::size_t workspace_bytes = std::size_t{256} << 20;
  int candidates = 1; ///< plans to create: several if they will be measured
  /// Most plans to compile at run time, which takes seconds each. Compiles only if no engine has a
  /// ready kernel.
  int compiled = 2;
};

/// Numbers of engines that a search tried.
struct SearchCounts {
  int candidates = 0; ///< configurations of engines tried, whether accepted or rejected
  int compiled = 0;   ///< of those, compiled at run time
};

/// Returns up to `policy.candidates` plans, best first, from heuristics mode A, then B, then the
/// fallback. Errors: unsupported, with the graph's name and why the last engine was rejected.
Result<std::vector<Plan>> find_plans(const Target& target, const OperationGraph& graph,
                                     const PlanPolicy& policy, SearchCounts* counts = nullptr);

/// Returns the tags of the engines that heuristics mode A proposes and the policy allows, best
/// first. Creates no plans: cheap, but a proposed engine may still fail. Engines that compile at
/// run time are proposed only if a CUDA driver can be loaded. Errors: unsupported if there are
/// none.
Result<std::vector<std::string>> proposed_engines(const Target& target, const OperationGraph& graph,
                                                  const PlanPolicy& policy);

} // namespace troupe::gpu::cudnn
