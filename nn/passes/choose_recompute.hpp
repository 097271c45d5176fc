/// Which activations backward is to make again.
#pragma once

#include "core/config/recompute.hpp"
#include "core/error.hpp"
#include "nn/passes/plan_memory.hpp"
#include "nn/passes/recompute.hpp"

#include <string>
#include <vector>

namespace troupe::nn {

/// What `config` asks for, in a graph as Recomputation takes it:
///
/// - block, names: all candidates of all units, or of those named.
/// - fit: candidates one by one, until the arena is small enough: of those that are live while most
///   bytes are, the one that saves most bytes for the time that making it again takes
///   (NodeCost::time; greedy as in Peng et al., "Capuchin", 2020).
///
/// Then what need not be made again is kept after all: in order of time per byte, what keeps the
/// arena (as plan_memory plans it) within the size that was asked for; for block and names, within
/// 1/16 of the way back from the size that making all of it again reaches. That is why much of the
/// last units is kept: their activations are needed at once.
///
/// Errors: invalid_input for a size that cannot be reached, saying the least that can; as
/// plan_memory. Names that the config check refuses choose nothing.
Result<TensorSet> choose_recompute(const Graph& training, const RecomputeConfig& config,
                                   const PlanOptions& memory);

} // namespace troupe::nn
