#include "capabilities.hpp"

#include <sched.h>

namespace troupe {

namespace {

std::int64_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fewer than the machine has when a container or taskset limits us.
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

} // namespace

Capabilities host_capabilities() {
  Capabilities found;
  found.host_cores = usable_cores();
  return found;
}

} // namespace troupe
