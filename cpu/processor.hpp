/// Instruction sets of the processor.
#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <string>

namespace troupe::cpu {

/// The instruction sets that the host device may use; each level includes the previous ones.
enum class IsaLimit : std::uint8_t {
  baseline, ///< of every x86-64
  avx2,
  avx512, ///< without its bf16, and without AMX
  best    ///< all that exist
};

/// Returns the limit in $TROUPE_ISA; best if it is not set. A limit above the processor's level has
/// no effect. An unknown word is an error, and sets no limit.
Result<IsaLimit> isa_limit();

struct Processor {
  bool v3 = false;          ///< x86-64-v3: AVX2, FMA
  bool v4 = false;          ///< x86-64-v4: AVX-512 F, BW, CD, DQ, VL
  bool avx512_bf16 = false; ///< dot products of bf16 pairs
  bool amx_bf16 = false;    ///< products of bf16 tiles, if the system permits them to this process
};

/// Detects the processor's features, within the limit; cheap.
Processor processor();
/// Detects all features, ignoring the limit.
Processor whole_processor();
/// Returns "avx512_core_bf16", "avx512_core", "avx2" or "baseline", as oneDNN calls them.
std::string isa_name(const Processor& processor);
/// Whether dot products of bf16 pairs do more work per second than fused f32 multiply-adds.
/// Measured (in well under a millisecond): on some processors the instruction is much slower.
bool multiplies_bf16_fast();

} // namespace troupe::cpu
