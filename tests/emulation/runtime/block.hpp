/// Runs a kernel's blocks: every thread of a block is a fiber, so that barriers and shuffles work
/// as on a device. A barrier that some threads of a block never reach is an error, not a hang.
#pragma once

#include <vector_types.h>

#include <cstddef>
#include <functional>

namespace emulation {

/// All blocks of a grid, one after the other: forward, or in random order where there is a seed;
/// threads of odd blocks from the last to the first, so that what a missing barrier does is seen.
void run_grid(dim3 grid, dim3 block, const std::function<void()>& thread);

} // namespace emulation
