/// Each is in a file of its own; of a platform that a build does not have, in NAME_absent.cpp.
#pragma once

#include "../platform.hpp"

namespace troupe::engine {

Platform host_platform();
Platform cuda_platform();

} // namespace troupe::engine
