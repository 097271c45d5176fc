#include "nn/builder.hpp"
#include "tests/devices/op_cases.hpp"
#include "tests/nn/fused_steps.hpp"
#include "tests/nn/graph_runner.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

constexpr double bit_for_bit = 1e-30;

/// Supports all nodes except those that passes for products and shared weights create.
const FusionSupport norms_only = supports([](const Graph& graph, const Node& node) {
  const auto* const product = std::get_if<MatmulAttributes>(&node.attributes);
  const bool has_epilogue = product && (product->gelu || product->bias_gradient);
  return !has_epilogue && !(node.op == Op::cast && graph[node.inputs[0]].role == Role::parameter);
});

/// Supports some of those nodes.
FusionSupport norms_by_chance(std::uint64_t seed) {
  const auto chance = by_chance(seed);
  return supports([chance](const Graph& graph, const Node& node) {
    return norms_only.microseconds(graph, node) && chance.microseconds(graph, node);
  });
}

/// Returns a model of two blocks: five norms, and four additions to the stream.
Graph two_blocks(const std::string& name, double dropout = 0) {
  ModelConfig config;
  config.name = name;
  config.layers = 2;
  config.heads = 2;
  config.width = 16;
  config.vocabulary = 11;
  if (name == "gpt2")
    config.dropout = dropout;
  const auto graph = build_model(
      config, {.input = {.name = "tokens", .sample = {6}, .vocabulary = 11}, .batch = 2});
  INFO((graph ? "" : graph.error().to_string()));
  REQUIRE(graph.has_value());
  return *graph;
}

using Flag = bool NormFusion::*;

Predicate has_fusion(Flag flag) {
  return [flag](const Node& node) {
    const auto* const fusion = norm_fusion(node.attributes);
    return fusion && fusion->*flag;
  };
}

std::ptrdiff_t fused_norms(const Graph& graph, Flag flag) {
  return count(graph, has_fusion(flag));
}

std::ptrdiff_t narrowed(const Graph& graph, Phase phase) {
  return count(graph, [phase](const Node& node) {
    const auto* const fusion = norm_fusion(node.attributes);
    return fusion && fusion->type && node.phase == phase;
  });
}

std::ptrdiff_t additions(const Graph& graph, Phase phase) {
  return count(graph,
               [phase](const Node& node) { return node.op == Op::add && node.phase == phase; });
}

/// Counts norms that write a sum of another unit.
std::ptrdiff_t across_units(const Graph& graph) {
  return count(graph, [&](const Node& node) {
    return has_fusion(&NormFusion::add)(node) && graph[node.outputs.back()].unit != node.unit;
  });
}

Graph recomputed(const Graph& forward, const FusionSupport& support,
                 const RecomputeConfig& recompute) {
  return prepared(forward, support, Precision::amp_bf16, {}, recompute).graph;
}

} // namespace

TEST_CASE("norms of a language model absorb additions and casts, with the same bits") {
  const std::string model = GENERATE("gpt2", "llama-mini");
  const auto precision = GENERATE(Precision::fp32, Precision::amp_bf16, Precision::amp_fp16);
  CAPTURE(model, to_string(precision));
  const auto forward = two_blocks(model);
  const auto plain = prepared(forward, {}, precision).graph;
  const auto graph = prepared(forward, norms_only, precision).graph;
  const bool mixed = precision != Precision::fp32;
  CHECK(fused_norms(graph, &NormFusion::add) == 4); // not the first norm, which reads embeddings
  CHECK(across_units(graph) == 2);
  CHECK(fused_norms(graph, &NormFusion::add_gradient) == 4); // not the last norm's
  CHECK(narrowed(graph, Phase::forward) == (mixed ? 5 : 0));
  CHECK(narrowed(graph, Phase::backward) == (mixed ? 5 : 0));
  CHECK(fused_norms(graph, &NormFusion::narrow) == (mixed ? 4 : 0)); // embeddings read only f32
  CHECK(additions(graph, Phase::forward) == 0);
  CHECK(additions(graph, Phase::backward) == additions(plain, Phase::backward) - 4);
  CHECK(count(graph, Op::cast) == 0);
  check_same_step(plain, graph, bit_for_bit);
}

TEST_CASE("norms are fused around dropout, with the same bits") {
  const auto forward = two_blocks("gpt2", 0.25);
  const auto graph = prepared(forward, norms_only, Precision::amp_bf16).graph;
  CHECK(fused_norms(graph, &NormFusion::add) == 4);
  CHECK(count(graph, Op::cast) == 0);
  check_same_step(prepared(forward, {}, Precision::amp_bf16).graph, graph, bit_for_bit);
}

TEST_CASE("every subset of the fusions of norms has the same bits") {
  const auto forward = two_blocks("gpt2");
  const auto plain = prepared(forward, {}, Precision::amp_bf16).graph;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    check_same_step(plain, prepared(forward, norms_by_chance(seed), Precision::amp_bf16).graph,
                    bit_for_bit);
}

TEST_CASE("norms add sums of their own unit only if activations are recomputed") {
  using Kind = RecomputeConfig::Kind;
  const auto forward = two_blocks("gpt2");
  const auto plain = recomputed(forward, {}, {.kind = Kind::block});
  const auto graph = recomputed(forward, norms_only, {.kind = Kind::block});
  CHECK(additions(graph, Phase::forward) == 2);
  CHECK(across_units(graph) == 0);
  CHECK(fused_norms(graph, &NormFusion::add) >= 2); // clones have the flag, too
  check_same_step(plain, graph, bit_for_bit);

  const auto bytes = prepared(forward, norms_only, Precision::amp_bf16).memory.arena_bytes;
  const auto fitting = [&](std::size_t limit) {
    return across_units(recomputed(forward, norms_only, {.kind = Kind::fit, .fit_bytes = limit}));
  };
  CHECK(fitting(bytes) == 2);
  CHECK(fitting(bytes * 15 / 16) == 0);
}

TEST_CASE("a norm after two additions absorbs only the last one") {
  const auto body = [](GraphBuilder& b, TensorId x) {
    x = b.flatten("flat", x);
    const auto first = b.add("first", b.linear("a", x, 8), b.linear("b", x, 8));
    return b.layer_norm("norm", b.add("last", first, b.linear("c", x, 8)));
  };
  const auto model = [&](const FusionSupport& support) {
    return testing::make_model({3, 2, 2, 2}, body, {.fuse_statistics = support}).graph;
  };
  const auto graph = model(norms_only);
  CHECK(fused_norms(graph, &NormFusion::add) == 1);
  CHECK(additions(graph, Phase::forward) == 1);
  check_same_step(model({}), graph, bit_for_bit);
}

TEST_CASE("a norm's gradient is added by itself if the other part is computed later") {
  const auto body = [](GraphBuilder& b, TensorId x) {
    x = b.linear("in", b.flatten("flat", x), 8);
    const auto other = b.linear("other", x, 8); // backward differentiates it after the norm
    return b.add("both", other, b.layer_norm("norm", x));
  };
  const auto model = [&](const FusionSupport& support) {
    return testing::make_model({3, 2, 2, 2}, body, {.fuse_statistics = support}).graph;
  };
  const auto graph = model(norms_only);
  CHECK(fused_norms(graph, &NormFusion::add_gradient) == 0);
  CHECK(additions(graph, Phase::backward) == 1);
  check_same_step(model({}), graph, bit_for_bit);
}

TEST_CASE("kept tensors around norms stay") {
  const auto forward = two_blocks("gpt2");
  const auto keeping = [&](const char* name) {
    auto ready = prepared(forward, norms_only, Precision::amp_bf16, {.keep = {name}});
    CHECK(ready.graph.find(name));
    return ready.graph;
  };
  CHECK(narrowed(keeping("transformer.h.0.ln_1"), Phase::forward) == 4);
  CHECK(fused_norms(keeping("transformer.h.0.attn.c_proj.add"), &NormFusion::add) == 4);
  CHECK(count(keeping("transformer.h.0.attn.c_proj.f32"), Op::cast) == 1);
  CHECK(narrowed(keeping("transformer.h.0.ln_1.grad"), Phase::backward) == 4);
  CHECK(fused_norms(keeping("transformer.h.0.attn.c_proj.add.grad.part0"),
                    &NormFusion::add_gradient) == 3);
}

TEST_CASE("norms stay as they are if the device is slower with fused ones") {
  const FusionSupport slow{[](const Graph&, const Node& node) -> std::optional<double> {
    const auto* const fusion = norm_fusion(node.attributes);
    return fusion && *fusion != NormFusion{} ? 1.0 : 0.0;
  }};
  const auto graph = prepared(two_blocks("gpt2"), slow, Precision::amp_bf16).graph;
  CHECK(count(graph, [](const Node& node) {
          const auto* const fusion = norm_fusion(node.attributes);
          return fusion && *fusion != NormFusion{};
        }) == 0);
}

TEST_CASE("a norm's gradient overwrites the other part of the stream's gradient") {
  const auto ready = prepared(two_blocks("gpt2"), norms_only, Precision::amp_bf16);
  const auto offset = [&](TensorId id) {
    return ready.memory.offsets[static_cast<std::size_t>(id)];
  };
  for (const auto& node : ready.graph.nodes)
    if (has_fusion(&NormFusion::add_gradient)(node))
      CHECK(offset(node.inputs.back()) == offset(node.outputs[0]));
  GraphRunner apart{ready.graph}, shared{ready.graph, ready.memory};
  for (auto* const runner : {&apart, &shared}) {
    runner->fill();
    runner->run();
  }
  for (const auto id : ready.graph.with_role(Role::gradient)) {
    const auto& name = ready.graph[id].name;
    CHECK(apart.get(name) == shared.get(name));
  }
}
