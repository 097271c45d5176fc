/// The execution of a ProbeOrder by a NODE.
#pragma once

#include "actors/interfaces.hpp"
#include "collectives/data_plane/data_plane.hpp"

#include <memory>
#include <string>

namespace troupe::actors {

/// Tries all links of the order at once, each on its own thread, and meanwhile answers those that
/// others try with its ticket. `self`: the NODE that has the order; `name`: its address. Error: the
/// order has too many links.
caf::result<std::vector<BrokenLink>>
probe_links(node_actor::pointer self, const std::shared_ptr<collectives::DataPlane>& data_plane,
            const std::string& name, const ProbeOrder& order);

} // namespace troupe::actors
