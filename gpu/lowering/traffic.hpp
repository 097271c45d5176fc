/// Traffic of nodes that kernels of this project run, to estimate times where nothing is measured.
/// bench/gpu/node_traffic.hpp counts all nodes (docs/gpu-count.md).
#pragma once

#include "core/graph/graph.hpp"
#include "gpu/traffic.hpp"

#include <vector>

namespace troupe::gpu {

/// Returns the traffic of a node that a fusion may create or replace, except convolutions.
Traffic traffic_of(const Graph& graph, const Node& node);

double bytes_of(const Tensor& tensor, DType type);
double bytes_of(const Graph& graph, const std::vector<TensorId>& tensors);
/// One kernel that reads all inputs and writes all outputs once.
Traffic once(const Graph& graph, const Node& node);
/// As above, with `launches` more kernels; these tensors are read or written once more.
Traffic once_and(const Graph& graph, const Node& node, const std::vector<TensorId>& read,
                 const std::vector<TensorId>& written, int launches);
Traffic cast_traffic(std::size_t elements, DType from, DType to);

} // namespace troupe::gpu
