#include "tests/nn/graph_runner.hpp"

#include "core/random.hpp"
#include "cpu/interpreter/ops.hpp"
#include "nn/initialize.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>

namespace troupe::nn::test {

GraphRunner::GraphRunner(Graph graph, const MemoryPlan& plan)
    : graph_{std::move(graph)}, memory_(graph_.tensors.size()), arena_(plan.arena_bytes),
      pointers_(graph_.tensors.size()) {
  for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
    const auto& tensor = graph_.tensors[i];
    const auto bytes = static_cast<std::size_t>(tensor.shape.elements()) * size_of(tensor.dtype);
    if (!plan.offsets.empty() && plan.offsets[i] != MemoryPlan::not_in_arena) {
      REQUIRE(plan.offsets[i] + bytes <= plan.arena_bytes);
      pointers_[i] = arena_.data() + plan.offsets[i];
    } else {
      memory_[i].resize(bytes);
      pointers_[i] = memory_[i].data();
    }
  }
}

TensorId GraphRunner::id(std::string_view name) const {
  const auto found = graph_.find(name);
  INFO("tensor " << name);
  REQUIRE(found.has_value());
  return *found;
}

void GraphRunner::set(std::string_view name, const std::vector<float>& values) {
  const auto i = id(name);
  REQUIRE(static_cast<std::size_t>(graph_[i].shape.elements()) == values.size());
  cpu::store(graph_[i], pointers_[static_cast<std::size_t>(i)], {values.begin(), values.end()});
}

void GraphRunner::set_labels(std::string_view name, const std::vector<std::int32_t>& labels) {
  const auto i = id(name);
  REQUIRE(static_cast<std::size_t>(graph_[i].shape.elements()) == labels.size());
  cpu::store(graph_[i], pointers_[static_cast<std::size_t>(i)], {labels.begin(), labels.end()});
}

std::vector<float> GraphRunner::get(std::string_view name) const {
  const auto i = id(name);
  const auto values = cpu::load(graph_[i], pointers_[static_cast<std::size_t>(i)]);
  std::vector<float> floats(values.size());
  std::ranges::transform(values, floats.begin(), [](double v) { return static_cast<float>(v); });
  return floats;
}

void GraphRunner::fill(std::int32_t classes) {
  for (const auto& tensor : graph_.tensors) {
    const auto count = static_cast<std::size_t>(tensor.shape.elements());
    if (tensor.role == Role::statistic) {
      set(tensor.name, std::vector<float>(count, tensor.name.ends_with("var") ? 1.0f : 0.0f));
    } else if (tensor.dtype == DType::i32 &&
               (tensor.role == Role::target || tensor.role == Role::input)) {
      std::vector<std::int32_t> labels(count);
      for (std::size_t i = 0; i < count; ++i)
        labels[i] = static_cast<std::int32_t>(i) % classes;
      set_labels(tensor.name, labels);
    } else if (tensor.role == Role::input || tensor.role == Role::parameter ||
               tensor.role == Role::target) {
      set(tensor.name, noise(count, stream_of(tensor.name)));
    }
  }
}

void GraphRunner::run() {
  for (const auto& node : graph_.nodes)
    run(node);
}

void GraphRunner::run(const Node& node) {
  const auto status = cpu::run_node(graph_, node, pointers_);
  INFO((status ? "" : status.error().to_string()));
  REQUIRE(status.has_value());
}

std::vector<float> noise(std::size_t count, std::uint64_t seed) {
  CounterRng rng{seed, 7};
  std::vector<float> values(count);
  std::generate(values.begin(), values.end(), [&] { return 2.0f * rng.uniform() - 1.0f; });
  return values;
}

std::ptrdiff_t count(const Graph& graph, Op op) {
  return std::ranges::count(graph.nodes, op, &Node::op);
}

double relative_error(const std::vector<float>& got, const std::vector<float>& expected) {
  REQUIRE(got.size() == expected.size());
  double largest = 1e-30, difference = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, std::abs(double{expected[i]}));
    difference = std::max(difference, std::abs(double{got[i]} - double{expected[i]}));
    if (std::isnan(got[i]) != std::isnan(expected[i]))
      return INFINITY;
  }
  return difference / largest;
}

} // namespace troupe::nn::test
