/// What cuDNN's engines fuse on a device: the answers that nn/passes/fuse_statistics asks for.
#pragma once

#include "plan_book.hpp"

#include "troupe/core/graph.hpp"

#include <functional>

namespace troupe::gpu {

/// A function that says whether a device runs a node of a training graph; it finds (and measures)
/// plans, so it belongs to set-up. Convolutions are asked for at cuDNN, all else is ours and runs.
std::function<bool(const Graph&, const Node&)> fusion_support(std::shared_ptr<PlanBook> plans);

} // namespace troupe::gpu
