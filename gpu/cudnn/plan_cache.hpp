/// Plans on disk, and that there is none, so that the next start neither searches nor measures.
#pragma once

#include "gpu/cudnn/plan_search.hpp"

#include <filesystem>
#include <optional>

namespace troupe::gpu::cudnn {

struct ChosenPlan {
  Plan plan;
  double microseconds = -1; ///< measured; negative: never
  SearchCounts counts = {}; ///< of the search that has found it now; none where the cache had it
  bool from_cache = false;
  std::string not_stored = {}; ///< why the next start will search again; empty where it will not
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
  /// Errors: io, no_space; a plan that cuDNN does not serialize, or not as text.
  Status store(const Target& target, const OperationGraph& graph, const PlanPolicy& policy,
               const ChosenPlan& chosen) const;

  /// Why a search found no plan. One from before the compiler for engines was there does not count.
  std::optional<Error> find_refusal(const Target& target, const OperationGraph& graph,
                                    const PlanPolicy& policy) const;
  Status store_refusal(const Target& target, const OperationGraph& graph, const PlanPolicy& policy,
                       const Error& refusal) const;

  const std::filesystem::path& folder() const { return folder_; }
  /// Where the plan of this key, or the refusal, lies.
  std::filesystem::path path_of(const Target& target, const OperationGraph& graph,
                                const PlanPolicy& policy) const;

private:
  std::filesystem::path folder_;
};

} // namespace troupe::gpu::cudnn
