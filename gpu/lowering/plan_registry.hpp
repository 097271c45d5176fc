/// The cuDNN plans of one device, with their times. Each operation graph is searched and measured
/// once, by several threads if many are requested at a time. Graphs that no engine accepts are
/// remembered, too. A device has one registry (CudaDevice::plans).
#pragma once

#include "gpu/lowering/detail/plan_searcher.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>

namespace troupe::gpu {

/// Returns the constraints on plans that a compilation implies.
cudnn::PlanPolicy policy_of(const CompileOptions& options);

struct TimedPlan {
  std::shared_ptr<const cudnn::Plan> plan;
  const cudnn::Target* target =
      nullptr; ///< the registry's; the plan was created with its handle and runs with it
  double microseconds = 0; ///< measured, or else estimated
};

struct PlanRegistryOptions {
  std::filesystem::path cache; ///< a folder
  Say say{};                   ///< called with one line for each search and choice
  unsigned threads = 8;        ///< upper limit; never more than the usable cores
};

class PlanRegistry {
public:
  /// Opens cuDNN for a device, which must outlive the registry. Errors: unsupported, with the
  /// places that were searched.
  static Result<std::unique_ptr<PlanRegistry>> open(CudaDevice& device,
                                                    PlanRegistryOptions options);
  /// Folder of the plan cache: below $XDG_CACHE_HOME, else ~/.cache.
  static std::filesystem::path default_cache();
  /// For a GPU of another machine: finds the first plan of each graph, which cannot run.
  explicit PlanRegistry(cudnn::Target target);
  explicit PlanRegistry(std::unique_ptr<PlanSearcher> first);

  /// Finds the plans of all graphs that are not known yet. Blocks, up to seconds for each on a new
  /// device.
  void prepare(const std::vector<cudnn::OperationGraph>& graphs, const cudnn::PlanPolicy& policy);
  /// Errors: unsupported if no engine accepts the graph; out_of_memory if there was no memory to
  /// measure in, which does not mean that an engine rejects the graph.
  Result<TimedPlan> plan(const cudnn::OperationGraph& graph, const cudnn::PlanPolicy& policy);

  /// Estimates the microseconds of a graph on an engine with a ready kernel, from the graph's
  /// traffic and operations.
  double reckon(const cudnn::OperationGraph& graph) const;
  const DeviceRates& rates() const { return target().rates(); }
  const cudnn::Target& target() const { return searchers_.front()->target(); }
  /// Reports a line, once.
  void note(const std::string& line);

private:
  struct Asked;

  void open_searchers(std::size_t wanted);
  void look_up(Asked& asked, const PlanSearcher& searcher);

  PlanRegistryOptions options_;
  CudaDevice* device_ = nullptr; ///< null: the GPU is not in this machine
  std::optional<cudnn::PlanCache> cache_;
  std::vector<std::unique_ptr<PlanSearcher>> searchers_; ///< at least one
  std::map<std::string, Result<TimedPlan>> plans_;
  std::shared_mutex loading_; ///< held exclusively while measuring
  std::mutex saying_;
  std::set<std::string> said_;
};

} // namespace troupe::gpu
