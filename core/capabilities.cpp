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

bool has_avx512_core() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#else
  return false;
#endif
}

} // namespace

Capabilities host_capabilities() {
  Capabilities found;
  found.host_bf16 = has_avx512_core();
  found.host_cores = usable_cores();
  return found;
}

} // namespace troupe
