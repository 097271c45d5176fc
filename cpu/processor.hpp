/// What the processor can do.
#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <string>

namespace troupe::cpu {

/// How much of the processor the host device uses; each has what is before it.
enum class IsaLimit : std::uint8_t {
  baseline, ///< what every x86-64 has
  avx2,
  avx512, ///< without its bf16, and without AMX
  best    ///< all that there is
};

/// What $TROUPE_ISA says; best where it is not set. A limit above what the processor has changes
/// nothing. Any other word is an error, and limits nothing.
Result<IsaLimit> isa_limit();

struct Processor {
  bool v3 = false;          ///< x86-64-v3: AVX2, FMA
  bool v4 = false;          ///< x86-64-v4: AVX-512 F, BW, CD, DQ, VL
  bool avx512_bf16 = false; ///< dot products of bf16 pairs
  bool amx_bf16 = false; ///< and products of tiles of them, which the system lets this process do
};

/// Asks the processor, within the limit; cheap.
Processor processor();
/// Regardless of the limit.
Processor whole_processor();
/// "avx512_core_bf16", "avx512_core", "avx2" or "baseline", as oneDNN calls them.
std::string isa_name(const Processor& processor);
/// Whether a dot product of bf16 pairs gets more done in a second than fused f32 multiply-adds do.
/// Measured (well under a millisecond): on some processors the instruction is slower by far.
bool multiplies_bf16_fast();

} // namespace troupe::cpu
