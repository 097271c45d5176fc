/// Plans on disk, so that the next start neither searches nor measures.
#pragma once

#include "plan_search.hpp"

#include <filesystem>
#include <optional>

namespace troupe::gpu::cudnn {

/// A plan, and the median of its measured times; negative: never measured.
struct ChosenPlan {
  Plan plan;
  double microseconds = -1;
};

/// One file a plan, written whole or not at all, so that processes can share a folder. A file that
/// is damaged, or was made by another version of ours, of cuDNN, of the driver or for another
/// device, counts as absent and is written anew.
class PlanCache {
public:
  /// The folder is made when the first plan is stored.
  explicit PlanCache(std::filesystem::path folder);

  std::optional<ChosenPlan> find(const Target& target, const OperationGraph& graph,
                                 const PlanPolicy& policy) const;
  /// Errors: io, no_space; a plan that cuDNN does not serialize.
  Status store(const Target& target, const OperationGraph& graph, const PlanPolicy& policy,
               const ChosenPlan& chosen) const;

  /// Where the plan of this key lies.
  std::filesystem::path path_of(const Target& target, const OperationGraph& graph,
                                const PlanPolicy& policy) const;

private:
  std::filesystem::path folder_;
};

} // namespace troupe::gpu::cudnn
