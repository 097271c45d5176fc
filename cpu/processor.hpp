/// What the processor can do.
#pragma once

#include <string>

namespace troupe::cpu {

struct Processor {
  bool v3 = false;          ///< x86-64-v3: AVX2, FMA
  bool v4 = false;          ///< x86-64-v4: AVX-512 F, BW, CD, DQ, VL
  bool avx512_bf16 = false; ///< dot products of bf16 pairs
};

/// Asks the processor; cheap.
Processor processor();
/// "avx512_core_bf16", "avx512_core", "avx2" or "baseline", as oneDNN calls them.
std::string isa_name(const Processor& processor);
/// Whether a dot product of bf16 pairs gets more done in a second than fused f32 multiply-adds do.
/// Measured (well under a millisecond): on some processors the instruction is slower by far.
bool multiplies_bf16_fast();
/// Cores that this process may run on.
int available_cores();

} // namespace troupe::cpu
