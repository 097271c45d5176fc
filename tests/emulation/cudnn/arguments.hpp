/// Addresses and numbers from the variant pack that a plan is executed with.
#pragma once

#include "tests/emulation/cudnn/compute.hpp"
#include "tests/emulation/cudnn/descriptor.hpp"

#include <optional>

namespace emulation::cudnn {

/// Returns nothing, with a reason, when an address is missing or invalid, or when an output has
/// memory in common with another tensor. Tensors that lie side by side in one buffer, as q, k and v
/// do, have nothing in common. Reads the numbers that are passed by value.
std::optional<Arguments> arguments_of(const Descriptor& pack, const Graph& graph);

/// Whether a tensor has memory in common with these bytes.
bool has_tensor_in(const Graph& graph, const Arguments& arguments, const void* begin,
                   std::size_t bytes);

} // namespace emulation::cudnn
