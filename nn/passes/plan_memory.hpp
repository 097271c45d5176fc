/// Packs activations into one arena by their lifetimes.
#pragma once

#include "core/error.hpp"
#include "core/graph/graph.hpp"

#include <string>
#include <vector>

namespace troupe::nn {

struct PlanOptions {
  /// Activations that must survive to the end of the pass, for Executable::read_tensor.
  std::vector<std::string> keep;
  /// Ops whose first output the device may put where their first input dies, besides those that
  /// may do so everywhere (OpRecord::in_place).
  std::vector<Op> also_in_place = {};
  std::size_t alignment = 64; ///< bytes
};

struct PlannedMemory {
  MemoryPlan plan;
  /// What no plan can go below: the most bytes that are live at one time (live_bytes).
  std::size_t lower_bound_bytes = 0;
  std::size_t unshared_bytes = 0; ///< with memory of its own for every activation
};

/// Offsets for all activations. A tensor lives from the node that writes it to the last that reads
/// it; forward and backward nodes are one sequence, so what is saved for backward lives across.
/// Places the largest first, each at the smallest gap between those live at the same time (greedy
/// by size, after Pisarchyk & Lee, "Efficient Memory Management for Deep Neural Net Inference",
/// 2020), then tries the orders by area and by first use, and takes the best. Errors: `keep` names
/// no activation.
Result<PlannedMemory> plan_memory(const Graph& graph, const PlanOptions& options = {});

/// Bytes that are live while each node runs, by index of node, with the same reuse in place.
/// Errors: as plan_memory.
Result<std::vector<std::size_t>> live_bytes(const Graph& graph, const PlanOptions& options = {});

} // namespace troupe::nn
