#include "gpu/lowering/detail/plan_searcher.hpp"

#include "core/fail.hpp"
#include "gpu/alignment.hpp"
#include "gpu/detail/measure.hpp"
#include "gpu/device_guard.hpp"

#include <algorithm>
#include <mutex>

namespace troupe::gpu {

Result<std::unique_ptr<PlanSearcher>> PlanSearcher::open(const CudnnLibrary& library,
                                                         CudaDevice& device) {
  TROUPE_TRY(auto target, cudnn::Target::of_device(library, device.info().index));
  return std::make_unique<PlanSearcher>(std::move(target), &device);
}

Result<cudnn::ChosenPlan> PlanSearcher::choose(const cudnn::OperationGraph& graph,
                                               const cudnn::PlanPolicy& policy,
                                               const cudnn::PlanCache* cache,
                                               std::shared_mutex& loading) const {
  if (!device_)
    return cudnn::choose_plan(target_, graph, policy, cache);
  const DeviceGuard guard{device_->info().index};
  std::shared_lock finalizing{loading};
  return cudnn::choose_plan(target_, graph, policy, cache, [&](std::span<const cudnn::Plan> plans) {
    finalizing.unlock();
    auto times = [&] {
      const std::unique_lock alone{loading};
      return measure(graph, plans);
    }();
    finalizing.lock();
    return times;
  });
}

/// Measures in memory for every bound tensor of the graph and the largest workspace, on a temporary
/// stream: a stream that stayed would occupy one of the device's hardware queues, which streams
/// that wait for the host need.
Result<std::vector<Result<double>>>
PlanSearcher::measure(const cudnn::OperationGraph& graph,
                      std::span<const cudnn::Plan> plans) const {
  std::size_t workspace = 0, bytes = 0;
  for (const auto& plan : plans)
    workspace = std::max(workspace, aligned(plan.workspace_bytes()));
  for (const auto& tensor : graph.tensors)
    bytes += tensor.is_bound() ? aligned(tensor.bytes()) : 0;
  TROUPE_TRY(const auto memory, device_->allocate(workspace + bytes, MemoryKind::workspace));
  auto* at = memory->data() + workspace;
  const auto stream = device_->create_stream({.name = "measure"});
  TROUPE_TRY(wake_up(cuda_stream(*stream).handle(), memory->data(), workspace + bytes));
  TROUPE_TRY(fill_with_random_halves(*device_, *stream, at, bytes));
  std::vector<cudnn::Binding> bindings;
  for (const auto& tensor : graph.tensors)
    if (tensor.is_bound()) {
      bindings.push_back({tensor.uid, at});
      at += aligned(tensor.bytes());
    }
  const cudnn::MeasuringBuffers buffers{bindings, memory->data(), workspace};
  std::vector<Result<double>> times;
  for (const auto& plan : plans)
    times.push_back(
        cudnn::measure_microseconds(target_, plan, cuda_stream(*stream).handle(), buffers));
  TROUPE_TRY(target_.use_stream(nullptr)); // the measuring stream is destroyed
  return times;
}

} // namespace troupe::gpu
