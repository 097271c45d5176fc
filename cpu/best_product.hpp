/// What the processors do at most, as far as that can be found out.
#pragma once

#include "troupe/core/error.hpp"
#include "troupe/core/graph/tensor.hpp"

namespace troupe::cpu {

/// Multiplications and additions a second of oneDNN's product of matrices of `type` (f32 or bf16)
/// by so many threads, at the best of some tries. Measured: neither the clock nor how many products
/// a processor begins in a cycle is known to a program. Blocks for some 30 ms. Errors:
/// out_of_memory, device.
Result<double> best_product(DType type, int threads);

} // namespace troupe::cpu
