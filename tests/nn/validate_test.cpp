#include "nn/models/models.hpp"
#include "nn/passes/autodiff.hpp"
#include "nn/validate.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::nn;
using Catch::Matchers::ContainsSubstring;

namespace {

Graph training_graph() {
  ModelConfig config;
  config.name = "mlp";
  config.hidden = {4, 4};
  auto forward = build_model(config, {.input = image_input(4), .batch = 2});
  REQUIRE(forward.has_value());
  auto graph = autodiff(std::move(*forward));
  REQUIRE(graph.has_value());
  REQUIRE(validate(*graph).has_value());
  return *graph;
}

Tensor& tensor(Graph& graph, std::string_view name) {
  const auto id = graph.find(name);
  REQUIRE(id);
  return graph[*id];
}

std::string problem(const Graph& graph) {
  const auto valid = validate(graph);
  return valid ? "" : valid.error().message;
}

} // namespace

TEST_CASE("a node before its inputs is found") {
  auto graph = training_graph();
  std::swap(graph.nodes[1], graph.nodes[2]);
  CHECK_THAT(problem(graph), ContainsSubstring("before it is written"));
}

TEST_CASE("units out of order are found") {
  auto graph = training_graph();
  std::swap(graph.nodes[2].unit, graph.nodes[6].unit);
  CHECK_THAT(problem(graph), ContainsSubstring("unit"));
}

TEST_CASE("forward after backward is found") {
  auto graph = training_graph();
  graph.nodes.back().phase = Phase::forward;
  CHECK_THAT(problem(graph), ContainsSubstring("forward after backward"));
}

TEST_CASE("a tensor that is written twice is found") {
  auto graph = training_graph();
  graph.nodes.insert(graph.nodes.begin() + 1, graph.nodes[0]);
  CHECK_THAT(problem(graph), ContainsSubstring("again"));
}

TEST_CASE("another unit's parameter is found") {
  auto graph = training_graph();
  tensor(graph, "layers.1.weight").unit = 0;
  CHECK_FALSE(problem(graph).empty());
}

TEST_CASE("shapes that do not fit are found, with the node") {
  auto graph = training_graph();
  tensor(graph, "layers.1.grad").shape = {2, 5};
  CHECK_FALSE(problem(graph).empty());
  graph = training_graph();
  tensor(graph, "logits").dtype = DType::bf16;
  CHECK_THAT(problem(graph), ContainsSubstring("logits (bias, unit head)"));
}

TEST_CASE("ids that do not exist are found") {
  auto graph = training_graph();
  graph.nodes[3].inputs[0] = 1000;
  CHECK_THAT(problem(graph), ContainsSubstring("there is no tensor 1000"));
}
