/// Gradients that a pass with GradientMode::add computes apart: those of steps that can only
/// overwrite, such as biases, norms and embeddings. One launch at the end of a unit's backward adds
/// all of them to the gradients of earlier passes.
#pragma once

#include "gpu/lowering/lowering.hpp"

#include <cstddef>
#include <vector>

namespace troupe::gpu {

/// A range of a unit's gradients, in elements.
struct FreshGradient {
  std::size_t offset, elements;
};

/// Returns the gradients that are not in Lowering::summed, by unit. Call after all nodes are
/// lowered.
std::vector<std::vector<FreshGradient>> fresh_gradients(const Lowering& lowering);

/// Does nothing if the pass overwrites gradients. Null if there are none.
StepPtr add_gradients(std::vector<FreshGradient> gradients);

} // namespace troupe::gpu
