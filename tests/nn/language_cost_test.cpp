// Operations of language models, which their share of the devices' peak is told of.
#include "troupe/nn/compile.hpp"
#include "troupe/nn/cost.hpp"
#include "troupe/nn/models/models.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::nn;
using Catch::Approx;

namespace {

constexpr double sequence = 8, batch = 2, vocabulary = 30;

Graph training_graph(const ModelConfig& model) {
  const InputSpec input{.name = "tokens", .sample = {8}, .vocabulary = 30};
  const auto forward = build_model(model, {.input = input, .batch = 2});
  REQUIRE(forward);
  auto prepared = run_passes(*forward, Purpose::training, {});
  INFO((prepared ? "" : prepared.error().to_string()));
  REQUIRE(prepared);
  return std::move(prepared->graph);
}

double made_once(const Graph& graph) {
  return operations_of(graph) - repeated_operations_of(graph);
}

} // namespace

TEST_CASE("a token takes six operations for each weight of a product, and the causal half of "
          "attention") {
  constexpr double layers = 6, width = 384, of_block = 12 * width * width;
  const auto graph = training_graph({.name = "gpt2-mini"});
  const double of_token =
      6 * (layers * of_block + vocabulary * width) + 6 * layers * sequence * width;
  CHECK(made_once(graph) == Approx(batch * sequence * of_token));
}

TEST_CASE("what backward makes again is counted apart: scores of attention, logits") {
  constexpr double layers = 6, width = 384;
  const auto graph = training_graph({.name = "gpt2-mini"});
  const double again = layers * sequence * width + 2 * vocabulary * width;
  CHECK(repeated_operations_of(graph) == Approx(batch * sequence * again));
}

TEST_CASE("heads that are shared have fewer weights") {
  constexpr double layers = 6, width = 384, intermediate = 1024;
  const double of_block = width * (2 * width + 2 * width / 3 + 3 * intermediate);
  const double of_token =
      6 * (layers * of_block + vocabulary * width) + 6 * layers * sequence * width;
  CHECK(made_once(training_graph({.name = "llama-mini"})) == Approx(batch * sequence * of_token));
}
