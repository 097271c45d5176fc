/// The lowerings that HostDevice::compile chooses from.
#pragma once

#include "core/device/executable.hpp"
#include "core/graph/tensor.hpp"

#include <cstdint>
#include <memory>

namespace troupe::cpu {

class HostDevice;

/// The scalar interpreter: clear, slow, the truth (cpu/interpreter/).
Result<std::unique_ptr<Executable>> compile_interpreter(HostDevice& device, const Graph& graph,
                                                        const CompileOptions& options);

/// How convolutions and matrix products of bf16 activations are computed. Those of f16 are widened
/// always, as the library computes in f16 on the newest processors at best; weights are rounded.
enum class Bf16Mode : std::uint8_t {
  automatic, ///< what the processor is faster at
  native,    ///< by oneDNN on bf16 operands (has_native_bf16()); weights are rounded to bf16
  widened    ///< in f32 on pieces that are widened in the cache; weights stay f32
};

/// What the fastest engine multiplies activations of a type in on this processor, in the automatic
/// mode. Takes a moment: it may be measured.
DType arithmetic_type(DType activations);

/// Whether oneDNN has Bf16Mode::native on this processor.
bool has_native_bf16();

/// oneDNN's primitives and our own vectorized kernels (cpu/onednn/).
Result<std::unique_ptr<Executable>> compile_onednn(HostDevice& device, const Graph& graph,
                                                   const CompileOptions& options,
                                                   Bf16Mode bf16 = Bf16Mode::automatic);

} // namespace troupe::cpu
