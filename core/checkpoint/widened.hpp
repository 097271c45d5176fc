/// Tensors of a safetensors file as fp32 values, whatever floating type they have there.
#pragma once

#include "core/checkpoint/safetensors.hpp"

#include <span>
#include <string_view>

namespace troupe {

/// F32, F16, BF16, and F64, which is rounded.
bool is_widened(std::string_view dtype);

/// Fills `into` with the elements of the entry, whose type is_widened(), from element `first` on.
Status read_widened(const SafetensorsReader& reader, const SafetensorsEntry& entry,
                    std::size_t first, std::span<float> into);

} // namespace troupe
