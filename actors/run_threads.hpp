/// The number of threads that a run needs.
#pragma once

#include "core/config/config.hpp"

namespace troupe::actors {

/// Returns an upper bound of the threads that run_training starts besides its caller: each
/// worker's thread team and streams, the loaders, and those of the process (CAF's scheduler,
/// detached actors, servers).
int threads_of_run(const Config& config);

} // namespace troupe::actors
