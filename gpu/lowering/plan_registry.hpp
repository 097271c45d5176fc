/// The cuDNN plans of one device: by what each operation graph is run, and how long that takes.
/// Each is searched and measured once, by several threads where many are asked for at a time; what
/// no engine takes is remembered too. There is one book a device (CudaDevice::plans).
#pragma once

#include "gpu/lowering/detail/plan_searcher.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace troupe::gpu {

/// Which plans a compilation may use.
cudnn::PlanPolicy policy_of(const CompileOptions& options);

struct TimedPlan {
  std::shared_ptr<const cudnn::Plan> plan;
  const cudnn::Target* target = nullptr; ///< the book's; the plan was made and runs with its handle
  double microseconds = 0;
  bool measured = false; ///< else reckoned
};

struct PlanRegistryOptions {
  std::filesystem::path cache;                   ///< a folder
  std::function<void(const std::string&)> say{}; ///< told of each search and choice, a line each
  unsigned threads = 8;                          ///< at most, and no more than the machine's
};

class PlanRegistry {
public:
  /// Opens cuDNN for a device, which must outlive the book. Errors: unsupported, with what was
  /// searched.
  static Result<std::unique_ptr<PlanRegistry>> open(CudaDevice& device,
                                                    PlanRegistryOptions options);
  /// Where plans are kept: below $XDG_CACHE_HOME, else ~/.cache.
  static std::filesystem::path default_cache();
  /// For a GPU that is not here: the first plan of each graph, which cannot run.
  explicit PlanRegistry(cudnn::Target target);
  explicit PlanRegistry(std::unique_ptr<PlanSearcher> first);

  /// Looks up all that are not known yet at once. Blocks, up to seconds for each on a new device.
  void prepare(const std::vector<cudnn::OperationGraph>& graphs, const cudnn::PlanPolicy& policy);
  /// Errors: unsupported when no engine takes the graph; out_of_memory when there was none to
  /// measure in, which says nothing about engines.
  Result<TimedPlan> plan(const cudnn::OperationGraph& graph, const cudnn::PlanPolicy& policy);

  /// Microseconds of a graph on an engine that has a kernel for it, reckoned from what the graph
  /// moves and computes.
  double reckon(const cudnn::OperationGraph& graph) const;
  const DeviceRates& rates() const { return target().rates(); }
  const cudnn::Target& target() const { return searchers_.front()->target(); }
  /// Says a line, once.
  void note(const std::string& line);

private:
  struct Asked;

  void open_searchers(std::size_t wanted);
  void look_up(Asked& asked, const PlanSearcher& searcher);
  Result<TimedPlan> timed(const cudnn::OperationGraph& graph, const PlanSearcher& searcher,
                          Result<cudnn::ChosenPlan> chosen) const;

  PlanRegistryOptions options_;
  CudaDevice* device_ = nullptr; ///< null: it is not here
  std::optional<cudnn::PlanCache> cache_;
  std::vector<std::unique_ptr<PlanSearcher>> searchers_; ///< one at least
  std::map<std::string, Result<TimedPlan>> plans_;
  std::shared_mutex loading_; ///< held alone by what is measured
  std::mutex saying_;
  std::set<std::string> said_;
};

} // namespace troupe::gpu
