/// Values for a graph's parameters, statistics and batches; they depend only on names.
#pragma once

#include "core/device/executable.hpp"

#include <cstddef>
#include <vector>

namespace troupe::testing {

/// Returns initial values in canonical layout: scales of batch norms are near 1, and weights are
/// small enough that deep graphs keep their range.
std::vector<float> initial_values(const Slot& slot);

/// Returns the graph's inputs and targets in their order, in their memory layout: images have the
/// type and channels of the graph's input, with padding channels zero. The second label is ignored.
/// Each `number` 0, 1, ... gives other values. `noise`: standard deviation of each pixel's relative
/// error, which is normal.
std::vector<std::vector<std::byte>> batch_values(const Graph& graph, int number, float noise = 0);

} // namespace troupe::testing
