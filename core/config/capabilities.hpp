/// Capabilities of this build and this machine; configs are checked against them.
#pragma once

#include <cstdint>

namespace troupe {

struct Capabilities {
  bool cuda_build = false;     ///< the CUDA backend was compiled in
  int cuda_devices = 0;        ///< as counted by the driver
  std::int64_t host_cores = 1; ///< that this process may run on
  bool cuda_pinned = false;    ///< CUDA devices have their own memory and can use pinned host
                               ///< memory
  bool any_machine = false;    ///< the device that devices.kind auto takes is unknown

  /// All capabilities: to check a config for another machine.
  static Capabilities all() { return {true, 1 << 16, 1 << 16, true, true}; }
};

/// Looks up the host's part. CUDA stays off: the CUDA backend adds its own part.
Capabilities host_capabilities();

} // namespace troupe
