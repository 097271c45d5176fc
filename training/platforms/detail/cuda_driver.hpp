/// NVIDIA's driver. libcuda is loaded for the occasion: no build needs it.
#pragma once

#include "core/device/description.hpp"

#include <string>
#include <vector>

namespace troupe::training {

struct CudaDriver {
  std::string problem;              ///< why there is none; empty when it answers
  int version = 0;                  ///< 13000: CUDA 13.0
  std::vector<std::string> devices; ///< names
  bool integrated = false;          ///< one of them has the host's memory, and none of its own
};

CudaDriver probe_cuda_driver();

/// The driver and its devices, in the section "cuda".
Traits cuda_driver_traits();

} // namespace troupe::training
