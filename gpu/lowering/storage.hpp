/// Storage of a graph's parameters on the device, and the types in which nodes read them.
#pragma once

#include "core/device/executable.hpp"
#include "core/error.hpp"
#include "core/graph/graph.hpp"

#include <span>
#include <vector>

namespace troupe::gpu {

/// Lays out convolution weights with KrscCodec, padded to the channels of the images that they
/// read.
StorageLayout store_parameters(const Graph& graph);

/// Returns for each unit the type of its parameters' copy: the type other than f32 in which nodes
/// read them, or f32 for no copy. Errors: unsupported if nodes read a unit's parameters in two
/// types besides f32.
Result<std::vector<DType>> copy_types(const Graph& graph);

/// Returns the type of the copies if every unit with parameters has a copy and all have the same
/// type; else f32. Such copies are contiguous and in the order of the parameters.
DType common_copy_type(std::span<const DType> types, std::span<const std::size_t> unit_elements);

} // namespace troupe::gpu
