/// Lays out parameters and statistics in flat storage; shared by every engine.
#pragma once

#include "core/device/executable.hpp"
#include "core/graph/graph.hpp"

#include <cstddef>
#include <functional>

namespace troupe {

/// Receives a parameter's slot in canonical layout. Sets `elements` and `codec` if the engine
/// stores the parameter differently.
using StoreParameter = std::function<void(TensorId parameter, Slot& slot)>;

/// Lays out slots in graph order, units ascending; each begins at a multiple of `alignment`
/// elements. Without `store`, parameters are stored in canonical layout.
StorageLayout lay_out_storage(const Graph& graph, std::size_t alignment,
                              const StoreParameter& store = {});

} // namespace troupe
