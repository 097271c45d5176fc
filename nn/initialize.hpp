/// Initial values of parameters and statistics.
#pragma once

#include "core/error.hpp"
#include "core/graph/graph.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::nn {

struct InitialTensor {
  std::string name;
  Shape shape;
  std::vector<float> values; ///< canonical layout: row-major
};

/// Parameters, then statistics, in graph order.
std::vector<TensorId> initialized_tensors(const Graph& graph);

/// Values of one of them.
Result<InitialTensor> initial_value(const Tensor& tensor, std::uint64_t seed);

/// Values of all parameters, then of all statistics, in graph order. A value depends on (seed, name
/// of the tensor, position) alone: not on the rest of the model, on threads or on ranks.
///
/// What each is drawn from is the tensor's own (Tensor::initial): GraphBuilder gives it. Errors:
/// internal for a parameter or statistic that says nothing.
Result<std::vector<InitialTensor>> initial_values(const Graph& graph, std::uint64_t seed);

/// The generator's stream for a name: 64-bit FNV-1a.
std::uint64_t stream_of(std::string_view name);

} // namespace troupe::nn
