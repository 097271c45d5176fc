/// Times of fused and unfused nodes on a device, which decide what nn/passes/fuse_statistics fuses.
#pragma once

#include "core/graph/graph.hpp"
#include "gpu/lowering/plan_registry.hpp"

#include <functional>
#include <optional>

namespace troupe::gpu {

/// Returns a function that estimates the microseconds of a node of a training graph on a device, or
/// nothing if the device cannot run it. cuDNN plans give the time of convolutions; kernels of this
/// project run all other nodes, and their time is estimated. The first call finds and measures the
/// plans of a whole graph, so it belongs to set-up. The registry must outlive the function.
std::function<std::optional<double>(const Graph&, const Node&)>
fusion_times(PlanRegistry& plans, const cudnn::PlanPolicy& policy);
/// As above with the device's registry, which is opened for the first graph with convolutions: a
/// model without any does not need cuDNN. If it cannot be opened, nothing is fused into a
/// convolution, and lowering reports why. The device must outlive the function.
std::function<std::optional<double>(const Graph&, const Node&)>
fusion_times(CudaDevice& device, const DeviceRates& rates, const cudnn::PlanPolicy& policy);

} // namespace troupe::gpu
