/// Checks whether threads can be started before they are needed.
#pragma once

#include "core/error.hpp"

namespace troupe {

/// Starts this many threads at the same time and ends them again. OpenMP and CAF end the process
/// when the system refuses them a thread, so callers check before they use either. Errors:
/// unsupported when the system refuses, with the number of threads that could be started and the
/// limits to raise.
Status expect_threads(int count);

} // namespace troupe
