/// Finds and measures cuDNN plans with its own handle: one thread at a time.
#pragma once

#include "gpu/cuda_device.hpp"
#include "gpu/cudnn/chooser.hpp"

#include <memory>
#include <shared_mutex>

namespace troupe::gpu {

class PlanSearcher {
public:
  /// Makes the device the calling thread's current one; it must outlive the searcher.
  static Result<std::unique_ptr<PlanSearcher>> open(const CudnnLibrary& library,
                                                    CudaDevice& device);
  /// Without a device, for a GPU of another machine: measures nothing.
  explicit PlanSearcher(cudnn::Target target, CudaDevice* device = nullptr)
      : target_{std::move(target)}, device_{device} {}

  const cudnn::Target& target() const { return target_; }

  /// As cudnn::choose_plan. All searchers of a device share `loading`. A searcher holds it
  /// exclusively while it measures: finalizing another plan may load a kernel, which delays the
  /// launches.
  Result<cudnn::ChosenPlan> choose(const cudnn::OperationGraph& graph,
                                   const cudnn::PlanPolicy& policy, const cudnn::PlanCache* cache,
                                   std::shared_mutex& loading) const;

private:
  Result<std::vector<Result<double>>> measure(const cudnn::OperationGraph& graph,
                                              std::span<const cudnn::Plan> plans) const;

  cudnn::Target target_;
  CudaDevice* device_; ///< null: the GPU is not in this machine
};

} // namespace troupe::gpu
