/// Runs a kernel's blocks: every thread of a block is a fiber, so that barriers and shuffles work
/// as on a device. A barrier that some threads of a block never reach is an error, not a hang.
#pragma once

#include <vector_types.h>

#include <cstddef>
#include <functional>

namespace emulation {

/// Runs all blocks of a grid, one after the other: in order, or in random order when a seed is set.
/// The threads of odd blocks run from the last to the first, so that a missing barrier is detected.
void run_grid(dim3 grid, dim3 block, const std::function<void()>& thread);

} // namespace emulation
