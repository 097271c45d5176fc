/// What this build and this machine can run; configs are checked against it.
#pragma once

#include <cstdint>

namespace troupe {

struct Capabilities {
  bool cuda_build = false;     ///< the CUDA backend was compiled in
  int cuda_devices = 0;        ///< that the driver shows
  std::int64_t host_cores = 1; ///< this process may run on
  bool cuda_pinned = false;    ///< CUDA devices have memory of their own, and pinned beside it
  bool any_machine = false;    ///< what devices.kind auto takes is not known

  /// Everything: to check a config that is meant for another machine.
  static Capabilities all() { return {true, 1 << 16, 1 << 16, true, true}; }
};

/// The host's part, looked up now. CUDA stays off: the CUDA backend adds its own part.
Capabilities host_capabilities();

} // namespace troupe
