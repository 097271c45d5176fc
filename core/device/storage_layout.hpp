/// Lays parameters and statistics out in flat storage: what every engine shares.
#pragma once

#include "core/device/executable.hpp"
#include "core/graph/graph.hpp"

#include <cstddef>
#include <functional>

namespace troupe {

/// Given a parameter's slot as it is without a codec: sets `elements` and `codec` where an engine
/// stores it otherwise.
using StoreParameter = std::function<void(TensorId parameter, Slot& slot)>;

/// Slots in graph order, units ascending; each begins at a multiple of `alignment` elements.
/// Without `store` everything lies as it is.
StorageLayout lay_out_storage(const Graph& graph, std::size_t alignment,
                              const StoreParameter& store = {});

} // namespace troupe
