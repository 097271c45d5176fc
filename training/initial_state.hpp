/// State of a run at step 0.
#pragma once

#include "core/checkpoint/state_source.hpp"
#include "core/graph/graph.hpp"

#include <cstdint>

namespace troupe::training {

/// Returns initial parameters and statistics. Each tensor is drawn from the seed when it is read,
/// and uses memory only during the read. Read errors: those of nn::initial_value.
StateSourcePtr initial_state(const Graph& graph, std::uint64_t seed);

} // namespace troupe::training
