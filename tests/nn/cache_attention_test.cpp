// Tests language models that process sequences chunk by chunk, on the scalar ops.
#include "cpu/interpreter/ops.hpp"
#include "nn/compile.hpp"
#include "tests/nn/graph_runner.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

constexpr std::int64_t two_sequences = 2, whole_length = 12, known_tokens = 30;

ModelConfig small_model(const std::string& name, HeadWeight head) {
  ModelConfig model{.name = name, .width = 16, .layers = 2, .heads = 4, .head = head};
  if (name.starts_with("llama"))
    model.kv_heads = 2;
  return model;
}

Graph language_graph_of(const ModelConfig& model, std::int64_t tokens) {
  auto graph = build_model(
      model, {.input = {.name = "tokens", .sample = {tokens}, .vocabulary = known_tokens},
              .batch = two_sequences,
              .training = false});
  INFO((graph ? "" : graph.error().to_string()));
  REQUIRE(graph.has_value());
  return std::move(*graph);
}

Graph prepared_graph(const Graph& forward, const PassOptions& options) {
  auto prepared = run_passes(forward, PassMode::evaluation, options);
  INFO((prepared ? "" : prepared.error().to_string()));
  REQUIRE(prepared.has_value());
  return std::move(prepared->graph);
}

/// Returns a token; neighbours and sequences differ.
std::int32_t token_at(std::int64_t sequence, std::int64_t place) {
  return static_cast<std::int32_t>((7 * place + 11 * sequence + place * place) % known_tokens);
}

void set_tokens(GraphRunner& runner, std::int64_t first, std::int64_t tokens) {
  std::vector<std::int32_t> ids;
  for (std::int64_t sequence = 0; sequence < two_sequences; ++sequence)
    for (std::int64_t place = first; place < first + tokens; ++place)
      ids.push_back(token_at(sequence, place));
  runner.set_labels("tokens", ids);
}

/// Computes the last norm times the head's weight, as the loss does: (two_sequences, whole_length,
/// known_tokens).
std::vector<float> uncached_logits(const ModelConfig& model, Precision precision) {
  GraphRunner runner{
      prepared_graph(language_graph_of(model, whole_length), {.precision = precision})};
  runner.fill(known_tokens);
  set_tokens(runner, 0, whole_length);
  runner.run();
  const auto& loss = *std::ranges::find(runner.graph().nodes, Op::linear_cross_entropy, &Node::op);
  const auto x = runner.get(runner.graph()[loss.inputs[0]].name);
  const auto weight = runner.get(runner.graph()[loss.inputs[1]].name);
  const auto width = static_cast<std::size_t>(*model.width);
  const auto type = compute_type(precision);
  std::vector<float> logits;
  for (std::size_t row = 0; row < x.size(); row += width)
    for (std::size_t id = 0; id < weight.size(); id += width) {
      double sum = 0;
      for (std::size_t c = 0; c < width; ++c)
        sum += double{x[row + c]} * cpu::round_to(type, double{weight[id + c]});
      logits.push_back(static_cast<float>(sum));
    }
  return logits;
}

/// Chunks of sequences, one after the other, each processed by a separate graph; the caches are
/// passed from one to the next.
class Pieces {
public:
  Pieces(ModelConfig model, Precision precision)
      : model_{std::move(model)}, precision_{precision} {}

  /// Processes `tokens` more tokens. Returns the logits of all sequences and tokens, or nothing
  /// when `logits` is false.
  std::vector<float> go_on(std::int64_t tokens, bool logits = true) {
    const PassOptions options{.precision = precision_,
                              .cache = CacheOptions{.places = whole_length + 3, .logits = logits}};
    GraphRunner runner{prepared_graph(language_graph_of(model_, tokens), options)};
    runner.fill(known_tokens);
    for (const auto& [name, values] : cached_)
      runner.set(name, values);
    runner.set_labels(first_place, {static_cast<std::int32_t>(first_)});
    set_tokens(runner, first_, tokens);
    runner.run();
    first_ += tokens;
    cached_.clear();
    for (const auto id : runner.graph().with_role(Role::statistic))
      cached_.emplace_back(runner.graph()[id].name, runner.get(runner.graph()[id].name));
    return logits ? runner.get("logits") : std::vector<float>{};
  }
  std::int64_t first() const { return first_; }

private:
  ModelConfig model_;
  Precision precision_;
  std::int64_t first_ = 0;
  std::vector<std::pair<std::string, std::vector<float>>> cached_;
};

/// Returns the logits of these positions of all sequences.
std::vector<float> part_of_logits(const std::vector<float>& all, std::int64_t first,
                                  std::int64_t tokens) {
  std::vector<float> part;
  for (std::int64_t sequence = 0; sequence < two_sequences; ++sequence) {
    const auto begin = all.begin() + (sequence * whole_length + first) * known_tokens;
    part.insert(part.end(), begin, begin + tokens * known_tokens);
  }
  return part;
}

} // namespace

TEST_CASE("tokens fed in chunks have the same logits as all at once") {
  const std::string name = GENERATE("gpt2-mini", "llama-mini");
  const auto head = GENERATE(HeadWeight::tied, HeadWeight::own);
  const auto precision = GENERATE(Precision::fp32, Precision::amp_bf16, Precision::amp_fp16);
  CAPTURE(name, to_string(head), to_string(precision));
  const auto model = small_model(name, head);
  const auto expected = uncached_logits(model, precision);
  Pieces pieces{model, precision};
  for (const std::int64_t tokens : {5, 1, 4, 1, 1}) {
    const auto first = pieces.first();
    CAPTURE(first, tokens);
    CHECK(relative_error(pieces.go_on(tokens), part_of_logits(expected, first, tokens)) < 1e-6);
  }
}

TEST_CASE("caches can be filled without computing logits") {
  const std::string name = GENERATE("gpt2-mini", "llama-mini");
  const auto model = small_model(name, HeadWeight::usual);
  Pieces pieces{model, Precision::fp32};
  pieces.go_on(9, false);
  CHECK(relative_error(pieces.go_on(1),
                       part_of_logits(uncached_logits(model, Precision::fp32), 9, 1)) < 1e-6);
}

TEST_CASE("a cached graph has one unit, the model's parameters, caches and no target") {
  const auto forward = language_graph_of(small_model("llama-mini", HeadWeight::tied), 3);
  const auto graph = cache_attention(forward, {.places = 8});
  REQUIRE(graph.has_value());
  CHECK(graph->units.size() == 1);
  CHECK(graph->with_role(Role::parameter).size() == forward.with_role(Role::parameter).size());
  CHECK(graph->with_role(Role::target).empty());
  CHECK(graph->with_role(Role::input).size() == 2);
  CHECK(graph->with_role(Role::output).empty());
  CHECK(count(*graph, Op::share) == 0);
  CHECK(count(*graph, Op::causal_attention) == 0);
  const auto keys = graph->find("model.layers.1.self_attn.keys");
  REQUIRE(keys.has_value());
  CHECK((*graph)[*keys].shape == Shape{two_sequences * 2 * 8, 4});
  CHECK((*graph)[*keys].role == Role::statistic);
}

TEST_CASE("nodes that only logits need are omitted without logits") {
  const auto forward = language_graph_of(small_model("gpt2-mini", HeadWeight::tied), 3);
  const auto graph = cache_attention(forward, {.places = 8, .logits = false});
  REQUIRE(graph.has_value());
  CHECK_FALSE(graph->find("logits").has_value());
  CHECK(graph->nodes.back().op == Op::cached_attention);
  CHECK(graph->with_role(Role::parameter).size() == forward.with_role(Role::parameter).size());
}

TEST_CASE("a table of positions limits the cache") {
  auto model = small_model("gpt2-mini", HeadWeight::tied);
  model.positions = 17;
  CHECK(most_places(language_graph_of(model, 3)) == 17);
  CHECK_FALSE(
      most_places(language_graph_of(small_model("llama-mini", HeadWeight::tied), 3)).has_value());
}

TEST_CASE("only language models have a cached graph") {
  const auto forward =
      build_model({.name = "mlp"}, {.input = image_input(8), .batch = 2, .training = false});
  REQUIRE(forward.has_value());
  const auto graph = cache_attention(*forward, {.places = 8});
  REQUIRE_FALSE(graph.has_value());
  CHECK(graph.error().code == Errc::invalid_input);
}

TEST_CASE("a cache with fewer positions than rows is refused") {
  const auto forward = language_graph_of(small_model("gpt2-mini", HeadWeight::tied), 9);
  const auto prepared = run_passes(forward, PassMode::evaluation, {.cache = CacheOptions{8}});
  REQUIRE_FALSE(prepared.has_value());
  CHECK_THAT(prepared.error().message,
             Catch::Matchers::ContainsSubstring("heads and sequences of 9"));
}
