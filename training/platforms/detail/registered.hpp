/// The platforms that platforms.cpp lists. Each is made in a file of its own; where a build does
/// not have it, in NAME_absent.cpp.
#pragma once

#include "training/platforms/platform.hpp"

namespace troupe::training {

Platform host_platform();
Platform cuda_platform();

} // namespace troupe::training
