#include "machine.hpp"

#include <csignal>
#include <cstdlib>

namespace troupe::app {

void prepare_process() {
  // A limit of a file's size is an error where the file is written, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
#ifdef TROUPE_HAS_CUDA
  // CUDA's most. With its 8, streams of workers that share a GPU would share hardware queues, and
  // those that wait for the host hold up the others (gpu/wait_flags.hpp).
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
#endif
}

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
