/// How changes of parameters travel (parallel.outer.compress).
#pragma once

#include "collectives/strategy.hpp"
#include "core/device/device.hpp"

#include <cstddef>

namespace troupe::training {

/// Bytes of so many values.
std::size_t pseudo_gradient_bytes(collectives::Compression compression, std::size_t elements);

/// Chunks are multiples of it, so that a scale belongs to one.
std::size_t pseudo_gradient_granule(collectives::Compression compression);

/// Enqueue. Where they are not compressed, values are copied.
void encode_pseudo_gradient(Device& device, Stream& stream, collectives::Compression compression,
                            const float* values, void* to, std::size_t elements);
void decode_pseudo_gradient(Device& device, Stream& stream, collectives::Compression compression,
                            const void* from, float* values, std::size_t elements);

} // namespace troupe::training
