/// Pure f16 and bf16 (precision.mode fp16, bf16): what PyTorch has after Module.half() and
/// Module.bfloat16().
#pragma once

#include "executable.hpp"

#include <memory>

namespace troupe {

/// The executable, with the parameters' gradients and the statistics rounded to a type as soon as
/// they are written; it computes as before. The device is its own, and outlives it.
std::unique_ptr<Executable> with_rounded_results(std::unique_ptr<Executable> executable,
                                                 Device& device, DType type);

} // namespace troupe
