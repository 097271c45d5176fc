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
  std::vector<float> values; ///< row-major
};

/// Returns the parameters, then the statistics, in graph order.
std::vector<TensorId> initialized_tensors(const Graph& graph);

/// Returns the initial values of one tensor. A value depends only on (seed, name of the tensor,
/// position), not on the rest of the model, threads or ranks. GraphBuilder sets the distribution
/// (Tensor::initial). Errors: internal for a tensor without one.
Result<InitialTensor> initial_value(const Tensor& tensor, std::uint64_t seed);

/// Returns the generator's stream for a name: 64-bit FNV-1a.
std::uint64_t stream_of(std::string_view name);

} // namespace troupe::nn
