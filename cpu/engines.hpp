/// The lowerings that HostDevice::compile chooses from.
#pragma once

#include "troupe/core/executable.hpp"

#include <cstdint>
#include <memory>

namespace troupe::cpu {

class HostDevice;

/// The scalar interpreter: clear, slow, the truth (cpu/interpreter/).
Result<std::unique_ptr<Executable>> compile_interpreter(HostDevice& device, const Graph& graph,
                                                        const CompileOptions& options);

/// How convolutions and matrix products of bf16 activations are computed.
enum class Bf16Mode : std::uint8_t {
  automatic, ///< what the processor is faster at
  native,    ///< by oneDNN on bf16 operands; weights are rounded to bf16
  widened    ///< in f32 on pieces that are widened in the cache; weights stay f32
};

/// oneDNN's primitives and our own vectorized kernels (cpu/onednn/).
Result<std::unique_ptr<Executable>> compile_onednn(HostDevice& device, const Graph& graph,
                                                   const CompileOptions& options,
                                                   Bf16Mode bf16 = Bf16Mode::automatic);

} // namespace troupe::cpu
