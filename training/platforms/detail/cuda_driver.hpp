/// Probes NVIDIA's driver. Loads libcuda at run time, so that no build links to it.
#pragma once

#include "core/device/description.hpp"

#include <string>
#include <vector>

namespace troupe::training {

struct CudaDriver {
  struct Gpu {
    std::string name;
    int capability = 0; ///< 90 for sm_90
  };
  std::string problem; ///< why no driver is usable; empty if one is
  int version = 0;     ///< 13000: CUDA 13.0
  std::vector<Gpu> devices;
  bool integrated = false; ///< a device shares the host's memory and has none of its own
};

CudaDriver probe_cuda_driver();

/// Returns the driver and its devices, in the section "cuda".
Traits cuda_driver_traits();

} // namespace troupe::training
