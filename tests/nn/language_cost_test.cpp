// Tests the operation counts of language models, from which model FLOPs utilization is computed.
#include "nn/compile.hpp"
#include "nn/cost.hpp"
#include "nn/models/models.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::nn;
using Catch::Approx;

namespace {

constexpr double tokens_of_sequence = 8, tokens_of_batch = 16, kinds_of_tokens = 30;

Graph language_training_graph(const ModelConfig& model) {
  const InputSpec input{.name = "tokens", .sample = {8}, .vocabulary = 30};
  const auto forward = build_model(model, {.input = input, .batch = 2});
  REQUIRE(forward);
  auto prepared = run_passes(*forward, PassMode::training, {});
  INFO((prepared ? "" : prepared.error().to_string()));
  REQUIRE(prepared);
  return std::move(prepared->graph);
}

double operations_made_once(const Graph& graph) {
  const auto cost = cost_of(graph);
  return cost.operations - cost.repeated;
}

} // namespace

TEST_CASE("a token takes six operations per weight of a product, plus half of the attention") {
  constexpr double layers = 6, width = 384, of_block = 12 * width * width;
  const auto graph = language_training_graph({.name = "gpt2-mini"});
  const double of_token =
      6 * (layers * of_block + kinds_of_tokens * width) + 6 * layers * tokens_of_sequence * width;
  CHECK(operations_made_once(graph) == Approx(tokens_of_batch * of_token));
}

TEST_CASE("operations that backward repeats are counted separately: attention scores, logits") {
  constexpr double layers = 6, width = 384;
  const auto graph = language_training_graph({.name = "gpt2-mini"});
  const double again = layers * tokens_of_sequence * width + 2 * kinds_of_tokens * width;
  CHECK(cost_of(graph).repeated == Approx(tokens_of_batch * again));
}

TEST_CASE("shared heads have fewer weights") {
  constexpr double layers = 6, width = 384, intermediate = 1024;
  const double of_block = width * (2 * width + 2 * width / 3 + 3 * intermediate);
  const double of_token =
      6 * (layers * of_block + kinds_of_tokens * width) + 6 * layers * tokens_of_sequence * width;
  CHECK(operations_made_once(language_training_graph({.name = "llama-mini"})) ==
        Approx(tokens_of_batch * of_token));
}
