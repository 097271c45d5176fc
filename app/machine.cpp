#include "machine.hpp"

namespace troupe::app {

Capabilities machine_capabilities() {
  auto found = host_capabilities();
#ifdef TROUPE_HAS_CUDA
  found.cuda_build = true;
  const auto driver = probe_cuda_driver();
  found.cuda_devices = static_cast<int>(driver.devices.size());
  found.cuda_pinned = !driver.integrated;
#endif
  return found;
}

} // namespace troupe::app
