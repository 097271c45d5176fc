/// Values for a graph's parameters, statistics and batches, by name alone.
#pragma once

#include "core/device/executable.hpp"

#include <cstddef>
#include <vector>

namespace troupe::testing {

/// In the canonical layout: batch norm's scales around 1, weights small enough that deep graphs
/// keep their range.
std::vector<float> initial_values(const Slot& slot);

/// Of the graph's inputs and targets in their order, as they lie in memory: images in the type and
/// with the channels of the graph's input, those that are padding zero. The second label is
/// ignored. `number` 0, 1, ...: different values. Each pixel is off by a normal times `noise`,
/// relatively.
std::vector<std::vector<std::byte>> batch_values(const Graph& graph, int number, float noise = 0);

} // namespace troupe::testing
