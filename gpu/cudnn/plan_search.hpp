/// Which engines can run an operation graph, best first by cuDNN's heuristics.
#pragma once

#include "gpu/cudnn/plan.hpp"

#include <vector>

namespace troupe::gpu::cudnn {

struct PlanPolicy {
  bool deterministic = false; ///< only engines whose runs are bitwise equal
  /// Tensor cores for fp32 tensors, which round products to TF32. Other types always have them.
  bool tf32 = false;
  std::size_t workspace_bytes = std::size_t{256} << 20; ///< the most that a plan may ask for
  int candidates = 1; ///< how many plans to make: several where they will be measured
  /// How many may be compiled at run time, in seconds each; only where no engine has a kernel
  /// ready.
  int compiled = 2;
};

/// What a search took.
struct SearchCounts {
  int candidates = 0; ///< engines with their settings that a plan was made of, or refused
  int compiled = 0;   ///< of those, at run time
};

/// Up to `policy.candidates` plans, best first: heuristics mode A, then B, then the fallback.
/// Errors: unsupported, with the graph's name and why the last engine was refused.
Result<std::vector<Plan>> find_plans(const Target& target, const OperationGraph& graph,
                                     const PlanPolicy& policy, SearchCounts* counts = nullptr);

/// Tags of the engines that heuristics mode A proposes and the policy allows, best first, without
/// making plans: cheap, and no promise. Engines that are compiled at run time are proposed only
/// where a CUDA driver can be loaded. Errors: unsupported when there are none.
Result<std::vector<std::string>> proposed_engines(const Target& target, const OperationGraph& graph,
                                                  const PlanPolicy& policy);

} // namespace troupe::gpu::cudnn
