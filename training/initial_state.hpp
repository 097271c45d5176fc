/// Step 0 of a run.
#pragma once

#include "core/checkpoint/state_source.hpp"
#include "core/graph/graph.hpp"

#include <cstdint>

namespace troupe::training {

/// Initial parameters and statistics, which are drawn from the seed when they are read: each costs
/// a tensor's memory while it is. Reading gives errors of nn::initial_value.
StateSourcePtr initial_state(const Graph& graph, std::uint64_t seed);

} // namespace troupe::training
