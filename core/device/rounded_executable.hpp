/// Pure f16 and bf16 (precision.mode fp16, bf16): what PyTorch has after Module.half() and
/// Module.bfloat16().
#pragma once

#include "executable.hpp"

#include <memory>

namespace troupe {

/// f32: not rounded.
struct RoundedTypes {
  DType gradients = DType::f32, statistics = DType::f32;
};

/// The executable, with the parameters' gradients and the statistics rounded to types as soon as
/// they are written; it computes as before. The device is its own, and outlives it.
std::unique_ptr<Executable> with_rounded_results(std::unique_ptr<Executable> executable,
                                                 Device& device, const RoundedTypes& types);

} // namespace troupe
