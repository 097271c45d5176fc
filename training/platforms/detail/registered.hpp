/// The platforms that platforms.cpp lists. Each is defined in its own file, or in NAME_absent.cpp
/// if the build lacks it.
#pragma once

#include "training/platforms/platform.hpp"

namespace troupe::training {

Platform host_platform();
Platform cuda_platform();

} // namespace troupe::training
