/// Rolls a rank forward that is a step late.
#pragma once

#include "training/reducer/reducer_setup.hpp"

#include <cstdint>

namespace troupe::training {

/// Applies a step that this rank has voted for (ModelState::prepares) and other ranks have applied.
/// Uses new streams, because those of the generation have failed. Blocks. Errors: the streams'.
Status roll_forward(const GradientReducerSetup& setup, std::int64_t step);

} // namespace troupe::training
