#include "processor.hpp"

#include "troupe/core/fail.hpp"
#include "troupe/core/nearest.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fmt/ranges.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace troupe::cpu {

#if defined(__x86_64__)
namespace {

/// Seconds that a burst of independent instructions takes; the shortest of some tries, as others
/// may be running.
template <class Burst>
double shortest(Burst burst) {
  double best = 1;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 400; ++i)
      burst();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::min(best, seconds.count());
  }
  return best;
}

/// Linux saves a thread's tiles once its process has asked for them (arch_prctl(2)).
bool may_use_tiles() {
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

#define TROUPE_TWELVE(op)                                                                          \
  op " %%zmm12, %%zmm13, %%zmm0\n" op " %%zmm12, %%zmm13, %%zmm1\n" op                             \
     " %%zmm12, %%zmm13, %%zmm2\n" op " %%zmm12, %%zmm13, %%zmm3\n" op                             \
     " %%zmm12, %%zmm13, %%zmm4\n" op " %%zmm12, %%zmm13, %%zmm5\n" op                             \
     " %%zmm12, %%zmm13, %%zmm6\n" op " %%zmm12, %%zmm13, %%zmm7\n" op                             \
     " %%zmm12, %%zmm13, %%zmm8\n" op " %%zmm12, %%zmm13, %%zmm9\n" op                             \
     " %%zmm12, %%zmm13, %%zmm10\n" op " %%zmm12, %%zmm13, %%zmm11\n"
#define TROUPE_CLOBBERED                                                                           \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",         \
      "xmm11", "xmm12", "xmm13"

} // namespace

bool multiplies_bf16_fast() {
  if (!processor().avx512_bf16)
    return false;
  asm volatile("vzeroall" ::: TROUPE_CLOBBERED);
  const double f32 = shortest([] {
    asm volatile(TROUPE_TWELVE("vfmadd231ps") "vzeroupper" ::: TROUPE_CLOBBERED);
  });
  const double bf16 = shortest([] {
    asm volatile(TROUPE_TWELVE("vdpbf16ps") "vzeroupper" ::: TROUPE_CLOBBERED);
  });
  // One bf16 instruction does the work of two. The bound lies between what is known of processors
  // (0.5, 2 and 4), so that the answer does not change from one run to the next.
  return bf16 < 1.4 * f32;
}
#else
bool multiplies_bf16_fast() {
  return false;
}
#endif

Result<IsaLimit> isa_limit() {
  static const std::array<std::string, 4> words = {"baseline", "avx2", "avx512", "best"};
  const char* const given = std::getenv("TROUPE_ISA");
  if (given == nullptr || *given == '\0')
    return IsaLimit::best;
  const auto found = std::ranges::find(words, given);
  if (found != words.end())
    return static_cast<IsaLimit>(found - words.begin());
  const auto meant = nearest(given, words);
  return fail(Errc::invalid_input, "TROUPE_ISA: unknown value \"{}\"; allowed: {}{}", given,
              fmt::join(words, ", "),
              meant.empty() ? meant : fmt::format("; did you mean \"{}\"?", meant));
}

Processor processor() {
  auto result = whole_processor();
  const auto limit = isa_limit().value_or(IsaLimit::best);
  result.v3 = result.v3 && limit >= IsaLimit::avx2;
  result.v4 = result.v4 && limit >= IsaLimit::avx512;
  result.avx512_bf16 = result.avx512_bf16 && limit == IsaLimit::best;
  result.amx_bf16 = result.amx_bf16 && limit == IsaLimit::best;
  return result;
}

Processor whole_processor() {
  Processor result;
#if defined(__x86_64__)
  __builtin_cpu_init();
  result.v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  result.v4 = result.v3 && __builtin_cpu_supports("avx512f") &&
              __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  result.avx512_bf16 = result.v4 && __builtin_cpu_supports("avx512bf16");
  result.amx_bf16 = result.avx512_bf16 && __builtin_cpu_supports("amx-tile") &&
                    __builtin_cpu_supports("amx-bf16") && may_use_tiles();
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

} // namespace troupe::cpu
