/// Times of the kernels of our own, which move more than they compute: reckoned from their bytes.
#pragma once

#include "../../device_rates.hpp"
#include "troupe/core/graph/graph.hpp"

namespace troupe::gpu {

/// What a node that is no convolution or matmul reads and writes; batch norms that make their own
/// sums read twice what they sum up.
double bytes_moved(const Graph& graph, const Node& node);

/// Microseconds.
double reckon(const DeviceRates& rates, const Graph& graph, const Node& node);

} // namespace troupe::gpu
