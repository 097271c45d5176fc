/// Pure f16 and bf16 (precision.mode fp16, bf16), equivalent to PyTorch's Module.half() and
/// Module.bfloat16().
#pragma once

#include "core/device/executable.hpp"

#include <memory>

namespace troupe {

/// The types to round to; f32: no rounding.
struct RoundedTypes {
  DType gradients = DType::f32, statistics = DType::f32;
};

/// Wraps the executable: it computes as before, but rounds the parameters' gradients and the
/// statistics to `types` right after they are written. `device` is the executable's and must
/// outlive it.
std::unique_ptr<Executable> with_rounded_results(std::unique_ptr<Executable> executable,
                                                 Device& device, const RoundedTypes& types);

} // namespace troupe
