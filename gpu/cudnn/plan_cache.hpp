/// A cache of plans on disk, so that the next start neither searches nor measures. It also records
/// that a graph has no plan.
#pragma once

#include "gpu/cudnn/plan_search.hpp"

#include <filesystem>
#include <optional>

namespace troupe::gpu::cudnn {

struct ChosenPlan {
  Plan plan;
  double microseconds = -1; ///< measured; negative: not measured
  SearchCounts counts = {}; ///< of the search that found it now; zero if it came from the cache
  bool from_cache = false;
  std::string not_stored = {}; ///< why the next start will search again; empty if it was stored
};

/// One file per plan. A file is written atomically, so processes can share a folder. A file counts
/// as missing, and is written again, if it is damaged or belongs to another version of this format,
/// another cuDNN, driver or device.
class PlanCache {
public:
  /// Creates the folder when the first plan is stored.
  explicit PlanCache(std::filesystem::path folder);

  std::optional<ChosenPlan> find(const Target& target, const OperationGraph& graph,
                                 const PlanPolicy& policy) const;
  /// Errors: io, no_space; cuDNN's error if it cannot serialize the plan; io if its text is not
  /// UTF-8.
  Status store(const Target& target, const OperationGraph& graph, const PlanPolicy& policy,
               const ChosenPlan& chosen) const;

  /// Returns the stored reason why a search found no plan. Ignores a refusal that was recorded with
  /// another version of NVRTC, or without it.
  std::optional<Error> find_refusal(const Target& target, const OperationGraph& graph,
                                    const PlanPolicy& policy) const;
  Status store_refusal(const Target& target, const OperationGraph& graph, const PlanPolicy& policy,
                       const Error& refusal) const;

  const std::filesystem::path& folder() const { return folder_; }

private:
  std::filesystem::path folder_;
};

} // namespace troupe::gpu::cudnn
