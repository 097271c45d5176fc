/// How a device stores a graph's parameters, and in which types its nodes read them.
#pragma once

#include "core/device/executable.hpp"
#include "core/error.hpp"
#include "core/graph/graph.hpp"

#include <span>
#include <vector>

namespace troupe::gpu {

/// Convolution weights as KrscCodec has them, with the channels of the images they read.
StorageLayout store_parameters(const Graph& graph);

/// By unit: the type other than f32 in which nodes read its parameters, of which there is a copy;
/// f32: none. Errors: unsupported when a unit's are read in two types besides f32.
Result<std::vector<DType>> copy_types(const Graph& graph);

/// The type of all units' copies, where each unit that has parameters has one and none differs;
/// else f32. Such copies lie in memory as the parameters do, one unit behind the other.
DType common_copy_type(std::span<const DType> types, std::span<const std::size_t> unit_elements);

} // namespace troupe::gpu
