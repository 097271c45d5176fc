/// Rotary position embeddings of (rows, heads * head_dim), dtype f32, f16 or bf16; the angles are
/// f32. Semantics: RopeAttributes.
#pragma once

#include "core/graph/op.hpp"
#include "core/host_and_device.hpp"

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>

namespace troupe::gpu {

/// Returns the angle by which pair i of `half` is rotated at position `place` of its sequence.
TROUPE_HOST_DEVICE inline float rope_angle(std::int64_t place, int i, int half, float theta) {
  return static_cast<float>(place) * powf(theta, -static_cast<float>(i) / static_cast<float>(half));
}

enum class Turn : std::uint8_t { forward, back };

/// y may be x. `first` is the position of every sequence's first row, in device memory; null: 0.
/// Heads whose halves are multiples of 16 bytes, aligned to 16 bytes, are fast.
void launch_rope(cudaStream_t stream, DType dtype, const RopeAttributes& attributes, Turn turn,
                 std::int64_t rows, const void* x, const std::int32_t* first, void* y);

} // namespace troupe::gpu
