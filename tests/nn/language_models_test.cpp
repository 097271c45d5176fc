// Tests models of tokens: their names, sizes and refusals.
#include "nn/models/families.hpp"
#include "nn/models/models.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

using namespace troupe;
using namespace troupe::nn;
using Catch::Matchers::ContainsSubstring;

namespace {

InputSpec tokens(std::int64_t sequence, std::int64_t vocabulary) {
  return {.name = "tokens", .sample = {sequence}, .vocabulary = vocabulary};
}

Graph language_graph(const ModelConfig& model, const InputSpec& input) {
  auto graph = build_model(model, {.input = input, .batch = 2});
  INFO((graph ? "" : graph.error().to_string()));
  REQUIRE(graph.has_value());
  return std::move(*graph);
}

std::int64_t language_parameters(const Graph& graph) {
  std::int64_t count = 0;
  for (const auto id : graph.with_role(Role::parameter))
    count += graph[id].shape.elements();
  return count;
}

std::string language_refusal(const ModelConfig& model, const InputSpec& input = tokens(8, 30)) {
  const auto graph = build_model(model, {.input = input});
  return graph ? "" : graph.error().message;
}

} // namespace

TEST_CASE("language models have as many parameters as the originals") {
  const std::map<std::string, std::int64_t> of_gpt2 = {{"gpt2", 124439808},
                                                       {"gpt2-medium", 354823168},
                                                       {"gpt2-large", 774030080},
                                                       {"gpt2-xl", 1557611200}};
  for (const auto& [name, count] : of_gpt2) {
    INFO(name);
    CHECK(language_parameters(language_graph({.name = name}, tokens(64, 50257))) == count);
  }
  const std::map<std::string, std::int64_t> of_llama = {{"llama-110m", 134105856},
                                                        {"llama-1b", 1100048384},
                                                        {"llama-3b", 3426473600},
                                                        {"llama-7b", 6738415616}};
  for (const auto& [name, count] : of_llama) {
    INFO(name);
    CHECK(language_parameters(language_graph({.name = name}, tokens(64, 32000))) == count);
  }
  // As in llama2.c, whose stories110M has a tied head.
  CHECK(language_parameters(language_graph({.name = "llama-110m", .head = HeadWeight::tied},
                                           tokens(64, 32000))) == 109529856);
}

TEST_CASE("the smallest models have about ten million parameters in their blocks") {
  for (const std::string name : {"gpt2-mini", "llama-mini"}) {
    INFO(name);
    const auto count = language_parameters(language_graph({.name = name}, tokens(64, 65)));
    CHECK(count > 9'000'000);
    CHECK(count < 12'000'000);
  }
}

TEST_CASE("tensors of language models have Hugging Face's names, and blocks are units") {
  const auto gpt2 = language_graph({.name = "gpt2", .layers = 2}, tokens(8, 30));
  CHECK(gpt2.units ==
        std::vector<std::string>{"embedding", "transformer.h.0", "transformer.h.1", "head"});
  for (const std::string name :
       {"transformer.wte.weight", "transformer.wpe.weight", "transformer.h.1.ln_1.bias",
        "transformer.h.1.attn.c_attn.weight", "transformer.h.1.attn.c_proj.bias",
        "transformer.h.1.mlp.c_fc.weight", "transformer.ln_f.weight"})
    CHECK(gpt2.find(name).has_value());
  CHECK_FALSE(gpt2.find("lm_head.weight").has_value());
  const auto llama = language_graph({.name = "llama-mini", .layers = 1}, tokens(8, 30));
  for (const std::string name :
       {"model.embed_tokens.weight", "model.layers.0.self_attn.q_proj.weight",
        "model.layers.0.post_attention_layernorm.weight", "model.layers.0.mlp.down_proj.weight",
        "model.norm.weight", "lm_head.weight"})
    CHECK(llama.find(name).has_value());
}

TEST_CASE("a head uses the embedding's table or its own weight, as configured") {
  for (const std::string name : {"gpt2-mini", "llama-mini"}) {
    INFO(name);
    const auto tied =
        language_graph({.name = name, .layers = 1, .head = HeadWeight::tied}, tokens(8, 30));
    const auto own =
        language_graph({.name = name, .layers = 1, .head = HeadWeight::own}, tokens(8, 30));
    CHECK(language_parameters(own) - language_parameters(tied) == 30 * 384);
  }
}

TEST_CASE("keys change a named size and the sizes derived from it") {
  const auto graph =
      language_graph({.name = "llama-mini", .width = 96, .layers = 3, .heads = 4}, tokens(8, 30));
  CHECK(graph.units.size() == 5);
  CHECK(graph[*graph.find("model.layers.2.self_attn.k_proj.weight")].shape == Shape{96, 96});
  CHECK(graph[*graph.find("model.layers.2.mlp.up_proj.weight")].shape == Shape{256, 96});
  const auto padded = language_graph({.name = "gpt2-mini", .vocabulary = 64}, tokens(8, 30));
  CHECK(padded[*padded.find("transformer.wte.weight")].shape == Shape{64, 384});
}

TEST_CASE("all norms use the config's epsilon") {
  for (const auto* const name : {"gpt2-mini", "llama-mini"}) {
    const auto graph =
        language_graph({.name = name, .layers = 2, .norm_epsilon = 1e-3}, tokens(8, 30));
    std::vector<float> epsilons;
    for (const auto& node : graph.nodes)
      if (node.op == Op::layer_norm)
        epsilons.push_back(std::get<LayerNormAttributes>(node.attributes).eps);
      else if (node.op == Op::rms_norm)
        epsilons.push_back(std::get<RmsNormAttributes>(node.attributes).eps);
    CHECK(epsilons == std::vector<float>(5, 1e-3f));
  }
}

TEST_CASE("weights are initialized like Hugging Face's") {
  const auto graph = language_graph({.name = "gpt2"}, tokens(8, 30));
  const auto begins = [&](const std::string& name) { return graph[*graph.find(name)].initial; };
  CHECK(begins("transformer.wte.weight").value == 0.02);
  CHECK(begins("transformer.h.0.attn.c_attn.weight").value == 0.02);
  CHECK(std::abs(begins("transformer.h.0.mlp.c_proj.weight").value - 0.02 / std::sqrt(24.0)) <
        1e-12);
  CHECK(begins("transformer.h.0.attn.c_attn.bias").kind == Initial::Kind::constant);
}

TEST_CASE("language models report configs that do not fit") {
  CHECK_THAT(language_refusal({.name = "gpt2"}, image_input(32)),
             ContainsSubstring("gpt2 reads tokens, but the data has none"));
  CHECK_THAT(language_refusal({.name = "resnet20"}),
             ContainsSubstring("resnet20 does not read tokens, but the data consists of tokens"));
  CHECK_THAT(language_refusal({.name = "gpt2-mini", .heads = 7}),
             ContainsSubstring("7 heads do not divide a width of 384"));
  CHECK_THAT(language_refusal({.name = "llama-mini", .kv_heads = 4}),
             ContainsSubstring("6 heads cannot share 4 heads of keys and values"));
  // A key of LLaMA's models, which has no effect here.
  CHECK(language_refusal({.name = "gpt2-mini", .kv_heads = 4}).empty());
  CHECK_THAT(language_refusal({.name = "gpt2", .positions = 4}),
             ContainsSubstring("sequences have 8 tokens, but the model has only 4 positions"));
  CHECK_THAT(language_refusal({.name = "gpt2", .vocabulary = 29}),
             ContainsSubstring("the data has 30 tokens, but the vocabulary has 29"));
}
