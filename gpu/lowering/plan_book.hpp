/// The cuDNN plans of one executable: each operation graph is searched (and measured) once.
#pragma once

#include "../cuda_device.hpp"
#include "../cudnn/chooser.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace troupe::gpu {

class PlanBook {
public:
  /// Opens cuDNN for a device: candidates are measured on it, and what was chosen is kept on disk.
  /// The device must outlive the book. Errors: unsupported, with what was searched.
  static Result<std::unique_ptr<PlanBook>> open(CudaDevice& device, const CompileOptions& options);
  /// For a GPU that is not here: the first plan of each graph, which cannot run.
  PlanBook(cudnn::Target target, const CompileOptions& options);

  /// The plan for a graph. Errors: unsupported when no engine takes it (remembered too).
  Result<std::shared_ptr<const cudnn::Plan>> plan(const cudnn::OperationGraph& graph);
  const cudnn::Target& target() const { return target_; }

private:
  Result<cudnn::ChosenPlan> choose(const cudnn::OperationGraph& graph) const;
  Result<cudnn::ChosenPlan> measure(const cudnn::OperationGraph& graph) const;

  cudnn::Target target_;
  cudnn::PlanPolicy policy_;
  CudaDevice* device_ = nullptr; ///< null: it is not here
  std::optional<cudnn::PlanCache> cache_;
  std::unique_ptr<Stream> stream_; ///< candidates are measured on it
  std::map<std::string, Result<std::shared_ptr<const cudnn::Plan>>> plans_;
};

} // namespace troupe::gpu
