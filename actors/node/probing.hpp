/// How a NODE tries the links of a ProbeOrder.
#pragma once

#include "actors/interfaces.hpp"
#include "collectives/tcp/data_plane.hpp"

#include <memory>
#include <string>

namespace troupe::actors {

/// Tries all links of the order at once, each on a thread of its own, and meanwhile answers those
/// that others try with its ticket. `self`: the NODE that has the order; `name`: what others call
/// it. Error: the order has too many links.
caf::result<std::vector<BrokenLink>>
probe_links(node_actor::pointer self, const std::shared_ptr<collectives::DataPlane>& data_plane,
            const std::string& name, const ProbeOrder& order);

} // namespace troupe::actors
