/// Encoding of pseudo-gradients in messages (parallel.diloco.compress).
#pragma once

#include "core/device/device.hpp"
#include "training/strategy.hpp"

#include <cstddef>

namespace troupe::training {

/// Returns the bytes of `elements` encoded values.
std::size_t pseudo_gradient_bytes(Compression compression, std::size_t elements);

/// Returns the granularity of chunk sizes: chunks are multiples of it, so that no quantization
/// block spans two chunks.
std::size_t pseudo_gradient_granule(Compression compression);

/// Enqueues: returns the encoded values, in memory for a message. Without compression, they are
/// copied. Sets `rest`, unless null, to the rounding error. Error: out_of_memory.
Result<BufferPtr> encode_pseudo_gradient(Device& device, Stream& stream, Compression compression,
                                         const float* values, std::size_t elements, float* rest);
/// Enqueues.
void decode_pseudo_gradient(Device& device, Stream& stream, Compression compression,
                            const void* from, float* values, std::size_t elements);

} // namespace troupe::training
