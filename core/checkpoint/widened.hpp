/// Reads tensors of a safetensors file as fp32, whatever their floating type is.
#pragma once

#include "core/checkpoint/safetensors.hpp"

#include <span>
#include <string_view>

namespace troupe {

/// Whether the type can be read as fp32: F32, F16, BF16, or F64, which is rounded.
bool is_widened(std::string_view dtype);

/// Fills `into` from the entry's element `first` on. Precondition: is_widened(entry.dtype).
Status read_widened(const SafetensorsReader& reader, const SafetensorsEntry& entry,
                    std::size_t first, std::span<float> into);

} // namespace troupe
