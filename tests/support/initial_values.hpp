/// The initial values of a whole model.
#pragma once

#include "core/fail.hpp"
#include "nn/initialize.hpp"

namespace troupe::nn {

/// Returns the values of all parameters, then of all statistics, in graph order. Errors: those of
/// initial_value.
inline Result<std::vector<InitialTensor>> initial_values(const Graph& graph, std::uint64_t seed) {
  std::vector<InitialTensor> all;
  for (const auto id : initialized_tensors(graph)) {
    TROUPE_TRY(auto tensor, initial_value(graph[id], seed));
    all.push_back(std::move(tensor));
  }
  return all;
}

} // namespace troupe::nn
