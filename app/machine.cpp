#include "machine.hpp"

namespace troupe::app {

Capabilities machine_capabilities() {
  auto found = host_capabilities();
#ifdef TROUPE_HAS_CUDA
  found.cuda_build = true;
  found.cuda_devices = static_cast<int>(probe_cuda_driver().devices.size());
#endif
  return found;
}

} // namespace troupe::app
