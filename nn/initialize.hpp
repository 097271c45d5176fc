/// Initial values of parameters and statistics, as torchvision's models have them.
#pragma once

#include "troupe/core/error.hpp"
#include "troupe/core/graph.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::nn {

struct InitialTensor {
  std::string name;
  Shape shape;
  std::vector<float> values; ///< canonical layout: row-major
};

/// Values of all parameters, then of all statistics, in graph order. A value depends on (seed, name
/// of the tensor, position) alone: not on the rest of the model, on threads or on ranks.
///
/// Convolutions: normal, variance 2 / fan_out (He et al. 2015). Matmuls and their biases: uniform
/// within 1 / sqrt(fan_in), which is PyTorch's kaiming_uniform with a = sqrt(5). Batch norm: scale
/// 1, shift 0, running mean 0, running variance 1. Errors: internal for a parameter that no op
/// uses.
Result<std::vector<InitialTensor>> initial_values(const Graph& graph, std::uint64_t seed);

/// The generator's stream for a name: 64-bit FNV-1a.
std::uint64_t stream_of(std::string_view name);

} // namespace troupe::nn
