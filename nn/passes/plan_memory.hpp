/// Packs activations into one arena by their lifetimes.
#pragma once

#include "core/error.hpp"
#include "core/graph/graph.hpp"

#include <string>
#include <vector>

namespace troupe::nn {

struct PlanOptions {
  /// Activations that must be readable at the end of the pass, for Executable::read_tensor.
  std::vector<std::string> keep;
  /// Ops whose first output may overwrite their first input on this device if it is not used
  /// afterwards, in addition to those that may on every device (OpRecord::in_place).
  std::vector<Op> also_in_place = {};
  std::size_t alignment = 64; ///< bytes
};

/// Assigns offsets to all activations. A tensor lives from the node that writes it to the last node
/// that reads it. Forward and backward nodes are one sequence, so tensors that are saved for
/// backward live across both.
///
/// Places the largest tensors first, each in the smallest gap between those that are live at the
/// same time (greedy by size, after Pisarchyk & Lee, "Efficient Memory Management for Deep Neural
/// Net Inference", 2020). Then tries the orders by area and by first use, and takes the best.
/// Errors: a name in `keep` that is not an activation.
Result<MemoryPlan> plan_memory(const Graph& graph, const PlanOptions& options = {});

/// Returns the bytes that are live while each node runs, by index of node, with the same reuse in
/// place. The largest is a lower bound of every plan's arena. Errors: as plan_memory.
Result<std::vector<std::size_t>> live_bytes(const Graph& graph, const PlanOptions& options = {});

} // namespace troupe::nn
