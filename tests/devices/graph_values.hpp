/// Values for a graph's parameters, statistics and batches, by name alone.
#pragma once

#include "troupe/core/device/executable.hpp"

#include <cstddef>
#include <vector>

namespace troupe::tests {

/// In the canonical layout: batch norm's scales around 1, weights small enough that deep graphs
/// keep their range.
std::vector<float> initial_values(const Slot& slot);

/// Inputs and targets in the order of the graph, as they lie in memory.
using BatchValues = std::vector<std::vector<std::byte>>;

/// Images in the type and with the channels of the graph's input, those that are padding zero. The
/// second label is ignored. `number` 0, 1, ...: different values. Each pixel is off by a normal
/// times `noise`, relatively.
BatchValues batch_values(const Graph& graph, int number, float noise = 0);

} // namespace troupe::tests
