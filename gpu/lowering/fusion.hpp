/// What cuDNN's engines fuse on a device, and what it gains: the answers that
/// nn/passes/fuse_statistics asks for.
#pragma once

#include "core/graph/graph.hpp"
#include "gpu/lowering/plan_registry.hpp"

#include <functional>
#include <optional>

namespace troupe::gpu {

/// A function that says how many microseconds a device takes for a node of a training graph;
/// nothing where the device does not run it. cuDNN is asked about convolutions; all other nodes run
/// on kernels of ours, and their time is reckoned. The function finds and measures plans, those of
/// a whole graph at the first question, so it belongs to set-up. The book must outlive it.
std::function<std::optional<double>(const Graph&, const Node&)>
fusion_times(PlanRegistry& plans, const cudnn::PlanPolicy& policy);
/// The same with the device's book, which is opened for the first graph that has convolutions: a
/// model without any needs no cuDNN. Where it cannot be opened nothing is fused to a convolution,
/// and lowering reports why. The device must outlive the function.
std::function<std::optional<double>(const Graph&, const Node&)>
fusion_times(CudaDevice& device, const DeviceRates& rates, const cudnn::PlanPolicy& policy);

} // namespace troupe::gpu
