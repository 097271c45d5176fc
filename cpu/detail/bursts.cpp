#include "cpu/detail/bursts.hpp"

#include "cpu/processor.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace troupe::cpu {

namespace {

/// Twelve accumulators hide the latency of every instruction used here, at two a cycle.
constexpr int registers = 12;
constexpr std::int64_t rounds_of_registers = 30'000;

#if defined(__x86_64__)

constexpr int tiles = 6;
constexpr std::int64_t rounds_of_tiles = 1'875; // a product of tiles takes 16 cycles
constexpr double tile_operations = 2.0 * 16 * 16 * 32;

/// 0.747 in f32, and in each half as bf16: sums of its products stay finite and normal.
constexpr std::uint32_t factor = 0x3f3f3f3f;

#define TROUPE_TWELVE(op, r)                                                                       \
  op " %%" r "12, %%" r "13, %%" r "0\n" op " %%" r "12, %%" r "13, %%" r "1\n" op " %%" r         \
     "12, %%" r "13, %%" r "2\n" op " %%" r "12, %%" r "13, %%" r "3\n" op " %%" r "12, %%" r      \
     "13, %%" r "4\n" op " %%" r "12, %%" r "13, %%" r "5\n" op " %%" r "12, %%" r "13, %%" r      \
     "6\n" op " %%" r "12, %%" r "13, %%" r "7\n" op " %%" r "12, %%" r "13, %%" r "8\n" op        \
     " %%" r "12, %%" r "13, %%" r "9\n" op " %%" r "12, %%" r "13, %%" r "10\n" op " %%" r        \
     "12, %%" r "13, %%" r "11\n"
#define TROUPE_CLOBBERED                                                                           \
  "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",   \
      "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#define TROUPE_VECTOR_BURST(function, op, r)                                                       \
  void function(std::int64_t rounds) {                                                             \
    asm volatile("vzeroall\n"                                                                      \
                 "vbroadcastss %1, %%" r "12\n"                                                    \
                 "vbroadcastss %1, %%" r "13\n"                                                    \
                 "1:\n" TROUPE_TWELVE(op, r) "dec %0\n"                                            \
                                             "jnz 1b\n"                                            \
                                             "vzeroupper"                                          \
                 : "+r"(rounds)                                                                    \
                 : "m"(factor)                                                                     \
                 : TROUPE_CLOBBERED);                                                              \
  }

TROUPE_VECTOR_BURST(run_avx2, "vfmadd231ps", "ymm")
TROUPE_VECTOR_BURST(run_avx512, "vfmadd231ps", "zmm")
TROUPE_VECTOR_BURST(run_avx512_bf16, "vdpbf16ps", "zmm")

/// Baseline x86-64 has separate multiply and add instructions: six accumulators for each.
void run_sse2(std::int64_t rounds) {
  constexpr float one = 1;
  asm volatile("movss %1, %%xmm12\n"
               "shufps $0, %%xmm12, %%xmm12\n"
               "movaps %%xmm12, %%xmm0\nmovaps %%xmm12, %%xmm1\nmovaps %%xmm12, %%xmm2\n"
               "movaps %%xmm12, %%xmm3\nmovaps %%xmm12, %%xmm4\nmovaps %%xmm12, %%xmm5\n"
               "movaps %%xmm12, %%xmm6\nmovaps %%xmm12, %%xmm7\nmovaps %%xmm12, %%xmm8\n"
               "movaps %%xmm12, %%xmm9\nmovaps %%xmm12, %%xmm10\nmovaps %%xmm12, %%xmm11\n"
               "1:\n"
               "mulps %%xmm12, %%xmm0\naddps %%xmm12, %%xmm6\n"
               "mulps %%xmm12, %%xmm1\naddps %%xmm12, %%xmm7\n"
               "mulps %%xmm12, %%xmm2\naddps %%xmm12, %%xmm8\n"
               "mulps %%xmm12, %%xmm3\naddps %%xmm12, %%xmm9\n"
               "mulps %%xmm12, %%xmm4\naddps %%xmm12, %%xmm10\n"
               "mulps %%xmm12, %%xmm5\naddps %%xmm12, %%xmm11\n"
               "dec %0\n"
               "jnz 1b\n"
               : "+r"(rounds)
               : "m"(one)
               : TROUPE_CLOBBERED);
}

/// Memory format that ldtilecfg reads (Intel's manual, volume 2, LDTILECFG).
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0;
  std::array<std::uint8_t, 14> reserved = {};
  std::array<std::uint16_t, 16> row_bytes = {64, 64, 64, 64, 64, 64, 64, 64};
  std::array<std::uint8_t, 16> rows = {16, 16, 16, 16, 16, 16, 16, 16};
};

void run_amx_bf16(std::int64_t rounds) {
  const TileConfig config;
  alignas(64) std::array<std::uint32_t, 256> values;
  values.fill(factor);
  const std::int64_t row = 64;
  asm volatile("ldtilecfg %1\n"
               "tileloadd (%2, %3, 1), %%tmm6\n"
               "tileloadd (%2, %3, 1), %%tmm7\n"
               "tilezero %%tmm0\ntilezero %%tmm1\ntilezero %%tmm2\n"
               "tilezero %%tmm3\ntilezero %%tmm4\ntilezero %%tmm5\n"
               "1:\n"
               "tdpbf16ps %%tmm7, %%tmm6, %%tmm0\ntdpbf16ps %%tmm7, %%tmm6, %%tmm1\n"
               "tdpbf16ps %%tmm7, %%tmm6, %%tmm2\ntdpbf16ps %%tmm7, %%tmm6, %%tmm3\n"
               "tdpbf16ps %%tmm7, %%tmm6, %%tmm4\ntdpbf16ps %%tmm7, %%tmm6, %%tmm5\n"
               "dec %0\n"
               "jnz 1b\n"
               "tilerelease"
               : "+r"(rounds)
               : "m"(config), "r"(values.data()), "r"(row)
               : "cc", "memory");
}

Burst vector_burst(std::string_view name, void (*run)(std::int64_t), int lanes) {
  return {name, run, 2.0 * lanes * registers, rounds_of_registers};
}

#else

using Lanes = float __attribute__((vector_size(16)));

void run_lanes(std::int64_t rounds) {
  const Lanes one = {1, 1, 1, 1};
  std::array<Lanes, registers> sums = {};
  for (std::int64_t round = 0; round < rounds; ++round)
    for (auto& sum : sums) {
      sum = sum * one + one;
      asm volatile("" : "+w"(sum));
    }
}

#endif

} // namespace

std::vector<Burst> bursts_of(DType type) {
#if defined(__x86_64__)
  const auto has = processor();
  if (type == DType::bf16 && has.amx_bf16)
    return {{"amx_bf16", run_amx_bf16, tiles * tile_operations, rounds_of_tiles},
            vector_burst("avx512_bf16", run_avx512_bf16, 32)};
  if (type == DType::bf16 && has.avx512_bf16)
    return {vector_burst("avx512_bf16", run_avx512_bf16, 32)};
  if (has.v4) // the wider registers may run at a lower clock, and on fewer units
    return {vector_burst("avx512", run_avx512, 16), vector_burst("avx2", run_avx2, 8)};
  if (has.v3)
    return {vector_burst("avx2", run_avx2, 8)};
  return {{"sse2", run_sse2, 4.0 * registers, rounds_of_registers}};
#else
  static_cast<void>(type);
  return {{"lanes", run_lanes, 2.0 * 4 * registers, rounds_of_registers}};
#endif
}

double timed_run(const Burst& burst) {
  const auto start = std::chrono::steady_clock::now();
  burst.run(burst.rounds);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double fastest_rate(const Burst& burst, int tries, const TimedRun& run) {
  double shortest = run(burst);
  for (int attempt = 1; attempt < tries; ++attempt)
    shortest = std::min(shortest, run(burst));
  return burst.operations * static_cast<double>(burst.rounds) / shortest;
}

} // namespace troupe::cpu
