/// Included by the kernel sources alone: names what one instruction set's variant defines.
/// TROUPE_VARIANT is the namespace that it is compiled into.
#pragma once

#include "kernels.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

void add(float* destination, const float* source, std::size_t elements);
void scale(float* values, float factor, std::size_t elements);
double squared_norm(const float* values, std::size_t elements);
void optimizer_step(const OptimizerArguments& arguments, const OptimizerRange& range);

const Kernels& table();

} // namespace troupe::cpu::TROUPE_VARIANT
