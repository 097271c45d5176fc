#include "processor.hpp"

#include <sched.h>

namespace troupe::cpu {

Processor processor() {
  Processor result;
#if defined(__x86_64__)
  __builtin_cpu_init();
  result.v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  result.v4 = result.v3 && __builtin_cpu_supports("avx512f") &&
              __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  result.avx512_bf16 = result.v4 && __builtin_cpu_supports("avx512bf16");
#endif
  return result;
}

std::string isa_name(const Processor& processor) {
  if (processor.avx512_bf16)
    return "avx512_core_bf16";
  if (processor.v4)
    return "avx512_core";
  return processor.v3 ? "avx2" : "baseline";
}

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    return 1;
  return CPU_COUNT(&set);
}

} // namespace troupe::cpu
