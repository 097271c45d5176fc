/// What the library may use of the processor.
#pragma once

namespace troupe::cpu {

/// Tells the library $TROUPE_ISA's limit. It takes one only before it has looked at the processor:
/// call this before asking or using it. Without TROUPE_ISA the library's own variable
/// (ONEDNN_MAX_CPU_ISA) stands.
void limit_library();

/// Whether it has instructions for matrices, or dot products of bf16 that are worth their name.
bool library_multiplies_bf16_fast();

/// Whether those dot products are the best that it has.
bool best_are_bf16_dot_products();

} // namespace troupe::cpu
