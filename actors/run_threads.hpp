/// How many threads a run needs.
#pragma once

#include "core/config/config.hpp"

namespace troupe::actors {

/// At least as many threads as run_training starts beside its caller: each worker's team with its
/// streams, loaders, and what a process has one of (CAF's scheduler, actors with threads of their
/// own, servers).
int threads_of_run(const Config& config);

} // namespace troupe::actors
