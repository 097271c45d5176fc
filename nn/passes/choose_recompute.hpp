/// Chooses the activations that backward recomputes.
#pragma once

#include "core/config/recompute.hpp"
#include "core/error.hpp"
#include "nn/passes/plan_memory.hpp"
#include "nn/passes/recompute.hpp"

#include <string>
#include <vector>

namespace troupe::nn {

/// Returns the choice of `config` for a graph that Recomputation accepts:
///
/// - block, names: all candidates of all units, or of the named ones.
/// - fit: one candidate after another, until the arena is small enough. Among the candidates that
///   are live at the memory peak, it takes the one that saves the most bytes per time of
///   recomputing it (NodeCost::time; greedy as in Peng et al., "Capuchin", 2020).
///
/// Then it removes candidates that need not be recomputed, in order of time per byte, while the
/// arena (as plan_memory plans it) stays within the requested size. For block and names, that size
/// is the one with all candidates recomputed, plus 1/16 of what that saves. So much of the last
/// units is kept, because their activations are needed immediately.
///
/// Errors: invalid_input for a size that cannot be reached, with the smallest possible size; as
/// plan_memory. Names that the config check refuses choose nothing.
Result<TensorSet> choose_recompute(const Graph& training, const RecomputeConfig& config,
                                   const PlanOptions& memory);

} // namespace troupe::nn
