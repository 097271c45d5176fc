/// Whether threads can be started, asked before they are needed.
#pragma once

#include "core/error.hpp"

namespace troupe {

/// Starts this many threads at the same time and ends them again. OpenMP and CAF end the process
/// when the system refuses them a thread, so callers ask before they use either. Errors
/// (unsupported): the system refused, with how many there could be and the limits to raise.
Status expect_threads(int count);

} // namespace troupe
