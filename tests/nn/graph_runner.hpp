/// Runs a graph on the scalar ops, with separate memory for every tensor.
#pragma once

#include "core/graph/graph.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace troupe::nn::test {

class GraphRunner {
public:
  /// Zeroes all tensors. With a plan, activations lie at the plan's offsets.
  explicit GraphRunner(Graph graph, const MemoryPlan& plan = {});

  const Graph& graph() const { return graph_; }
  /// Fails the test when there is no such tensor.
  TensorId id(std::string_view name) const;
  bool has(std::string_view name) const { return graph_.find(name).has_value(); }

  void set(std::string_view name, const std::vector<float>& values);
  void set_labels(std::string_view name, const std::vector<std::int32_t>& labels);
  std::vector<float> get(std::string_view name) const;
  /// Fills inputs and parameters with smooth deterministic values that differ for every name, sets
  /// statistics to their initial values, and labels to 0, 1, 2, ... modulo `classes`.
  void fill(std::int32_t classes = 10);

  /// Runs all nodes or one; fails the test on an error.
  void run();
  void run(const Node& node);

private:
  Graph graph_;
  std::vector<std::vector<std::byte>> memory_;
  std::vector<std::byte> arena_;
  std::vector<void*> pointers_;
};

/// Returns values in (-1, 1) that depend only on seed and position.
std::vector<float> noise(std::size_t count, std::uint64_t seed);

/// Returns the number of nodes with an op.
std::ptrdiff_t count(const Graph& graph, Op op);

/// Returns the largest difference, relative to the largest value of `expected`.
double relative_error(const std::vector<float>& got, const std::vector<float>& expected);

} // namespace troupe::nn::test
