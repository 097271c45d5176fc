/// What the machine and its libraries are, looked up now.
#pragma once

#include "troupe/core/config/capabilities.hpp"

#include <string>
#include <vector>

namespace troupe::app {

struct CudaDriver {
  std::string problem;              ///< why there is none; empty when it answers
  int version = 0;                  ///< 13000: CUDA 13.0
  std::vector<std::string> devices; ///< names
  bool integrated = false;          ///< one of them has the host's memory, and none of its own
};

/// Asks libcuda, which is loaded for the occasion: no build needs it.
CudaDriver probe_cuda_driver();

/// What has to be so before CUDA is first called. It changes the environment: to be called while
/// the process has one thread.
void prepare_process();

/// What configs of this build are checked against here.
Capabilities machine_capabilities();

} // namespace troupe::app
