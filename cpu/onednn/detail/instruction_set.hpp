/// Instruction sets that the library may use.
#pragma once

namespace troupe::cpu {

/// Sets $TROUPE_ISA's limit in the library. The library accepts a limit only before it has looked
/// at the processor: call this before asking or using it. Without TROUPE_ISA, the library's own
/// variable (ONEDNN_MAX_CPU_ISA) applies.
void limit_library();

/// Whether it has instructions for matrices, or dot products of bf16 that are faster than f32.
bool library_multiplies_bf16_fast();

/// Whether those dot products are the best instructions that it has for bf16.
bool best_are_bf16_dot_products();

} // namespace troupe::cpu
