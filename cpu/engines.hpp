/// The lowerings that HostDevice::compile chooses from.
#pragma once

#include "core/device/executable.hpp"
#include "core/graph/tensor.hpp"

#include <cstdint>
#include <memory>

namespace troupe::cpu {

class HostDevice;

/// Compiles for the scalar interpreter: the slow, clear reference (cpu/interpreter/).
Result<std::unique_ptr<Executable>> compile_interpreter(HostDevice& device, const Graph& graph,
                                                        const CompileOptions& options);

/// How convolutions and matrix products of bf16 activations are computed. Those of f16 are always
/// cast to f32, with weights rounded to f16: the library computes in f16 only on the newest
/// processors.
enum class Bf16Mode : std::uint8_t {
  automatic, ///< the faster one on this processor
  native,    ///< by oneDNN on bf16 operands (has_native_bf16()); weights are rounded to bf16
  widened    ///< in f32, on chunks cast up in the cache; weights stay f32
};

/// Returns the type in which the fastest engine multiplies activations of a type on this processor,
/// in the automatic mode. May take a moment to measure.
DType arithmetic_type(DType activations);

/// Whether oneDNN supports Bf16Mode::native on this processor.
bool has_native_bf16();

/// Compiles for oneDNN's primitives and our vectorized kernels (cpu/onednn/).
Result<std::unique_ptr<Executable>> compile_onednn(HostDevice& device, const Graph& graph,
                                                   const CompileOptions& options,
                                                   Bf16Mode bf16 = Bf16Mode::automatic);

} // namespace troupe::cpu
