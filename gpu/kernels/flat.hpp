/// Kernels over flat memory. All addresses are device memory, aligned to their elements; 16-byte
/// aligned memory is several times faster. dtype: f32, f16 or bf16.
#pragma once

#include "core/device/device.hpp"
#include "gpu/kernels/scratch.hpp"
#include "gpu/kernels/update_gate.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>

namespace troupe::gpu {

/// Rounds to nearest, ties to even.
void launch_cast(cudaStream_t stream, const void* from, DType from_type, void* to, DType to_type,
                 std::size_t elements);
struct CastRange {
  const void* from;
  void* to;
  std::size_t elements;
};
/// Casts several ranges, 64 per launch.
void launch_cast_ranges(cudaStream_t stream, std::span<const CastRange> ranges, DType from,
                        DType to);
/// Adds several ranges to ranges of f32, 64 per launch.
void launch_add_ranges(cudaStream_t stream, std::span<const CastRange> ranges, DType from);
/// y = a + b; y may be a or b.
void launch_add(cudaStream_t stream, DType dtype, void* y, const void* a, const void* b,
                std::size_t elements);
/// sum += a * b; a may be b.
void launch_add_product(cudaStream_t stream, float* sum, const float* a, const float* b,
                        std::size_t elements);
/// values *= factor.
void launch_scale(cudaStream_t stream, float* values, float factor, std::size_t elements);
/// Rounds each value to the nearest value of `type`.
void launch_round(cudaStream_t stream, float* values, DType type, std::size_t elements);

/// See Device::add_squared_norm; `scaler` may be null. Bitwise repeatable.
void launch_add_squared_norm(cudaStream_t stream, const OptimizerArguments& arguments,
                             const float* gradients, std::size_t elements, double* result,
                             const LossScaleState* scaler, const ReductionScratch& scratch);
/// *factor = troupe::clip_factor(*squared_norm, max_norm).
void launch_clip_factor(cudaStream_t stream, const double* squared_norm, float max_norm,
                        float* factor);

/// Sets *found_inf to 1 if a value is inf or nan; never clears it.
void launch_check_finite(cudaStream_t stream, const float* values, std::size_t elements,
                         float* found_inf);
/// troupe::update_loss_scale, once per step, after the optimizer. No effect if the gate is closed.
void launch_update_loss_scale(cudaStream_t stream, const LossScaleOptions& options,
                              LossScaleState* state, const UpdateGate& gate = {});
/// *steps += 1. No effect if the gate is closed.
void launch_count_update(cudaStream_t stream, std::int64_t* steps, const UpdateGate& gate = {});
/// Copies whole four-byte words. No effect if the gate is closed.
void launch_keep(cudaStream_t stream, void* destination, const void* source, std::size_t bytes,
                 const UpdateGate& gate = {});

/// An optimizer step in one launch. Arithmetic: core/device/optimizer_math.hpp. `clip` and `scaler`
/// may be null: see Device::optimizer_step. Writes nothing if the gate is closed.
void launch_optimizer_step(cudaStream_t stream, const OptimizerArguments& arguments,
                           const OptimizerViews& views, const float* clip,
                           const LossScaleState* scaler, const UpdateGate& gate = {});

/// Quantizes values in blocks with one scale each; core/device/quantized.hpp defines encoding and
/// arithmetic. Addresses are aligned to four bytes. Writes quantized_bytes(type, elements) bytes.
void launch_quantize(cudaStream_t stream, const float* source, void* destination,
                     QuantizedType type, std::size_t elements);
void launch_dequantize(cudaStream_t stream, const void* source, QuantizedType type,
                       float* destination, std::size_t elements);

} // namespace troupe::gpu
