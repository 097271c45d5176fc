#include "cpu/processor.hpp"

#include "core/fail.hpp"
#include "core/suggestion.hpp"
#include "cpu/detail/bursts.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/ranges.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace troupe::cpu {

#if defined(__x86_64__)
namespace {

/// Linux saves a thread's tiles only after its process has requested them (arch_prctl(2)).
bool may_use_tiles() {
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

} // namespace
#endif

bool multiplies_bf16_fast() {
  if (!processor().avx512_bf16)
    return false;
  const auto rate = [](Burst burst) {
    burst.rounds = 400;
    return fastest_rate(burst, 20);
  };
  // One bf16 instruction does the work of two f32 ones. The bound lies between the known ratios of
  // their times (0.5, 2 and 4), so that the answer does not change from one run to the next.
  return 1.4 * rate(bursts_of(DType::bf16).back()) > 2 * rate(bursts_of(DType::f32).front());
}

Result<IsaLimit> isa_limit() {
  static const std::array<std::string, 4> words = {"baseline", "avx2", "avx512", "best"};
  const char* const given = std::getenv("TROUPE_ISA");
  if (given == nullptr || *given == '\0')
    return IsaLimit::best;
  const auto found = std::ranges::find(words, given);
  if (found != words.end())
    return static_cast<IsaLimit>(found - words.begin());
  const auto meant = suggest(given, words);
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
