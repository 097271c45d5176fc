#include "nn/builder.hpp"
#include "nn/compile.hpp"
#include "tests/nn/graph_runner.hpp"
#include "tests/support/initial_values.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

/// The stem of a residual network, followed by a head.
Graph stem(bool pooled_twice = false) {
  GraphBuilder b;
  b.begin_unit("stem");
  const auto images = b.input("images", {3, 9, 8, 3});
  const auto labels = b.target("labels", {3}, DType::i32);
  const auto y =
      b.relu("relu", b.batch_norm("norm", b.conv2d("conv", images, 16, {3, 1, 1}), true));
  auto x = b.max_pool("pool", y, {.kernel_h = 3, .kernel_w = 3, .stride = 2, .padding = 1});
  if (pooled_twice)
    x = b.add("both", x,
              b.max_pool("again", y, {.kernel_h = 3, .kernel_w = 3, .stride = 2, .padding = 1}));
  b.begin_unit("head");
  const auto logits = b.linear("logits", b.flatten("flat", b.global_avg_pool("average", x)), 10);
  b.softmax_cross_entropy("loss", logits, labels, 0);
  auto graph = std::move(b).finish();
  REQUIRE(graph.has_value());
  return *graph;
}

/// All nodes cost nothing; convolutions compute no sums unless `sums` is set.
FusionSupport support(bool sums) {
  return {[sums](const Graph&, const Node& node) {
    const auto* const convolution = std::get_if<Conv2dAttributes>(&node.attributes);
    return convolution && convolution->statistics && !sums ? std::nullopt : std::optional{0.0};
  }};
}

Graph prepared_stem(const Graph& forward, PassOptions options) {
  options.fuse = FusePatterns::all();
  const auto ready = run_passes(forward, PassMode::training, options);
  INFO((ready ? "" : ready.error().to_string()));
  REQUIRE(ready.has_value());
  return ready->graph;
}

bool pools_what_it_normalizes(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    return node.op == Op::max_pool && std::get<PoolAttributes>(node.attributes).prologue;
  });
}

void check_same_stem(const Graph& plain, const Graph& fused, double tolerance) {
  GraphRunner a{plain}, b{fused};
  const auto values = initial_values(plain, 1);
  REQUIRE(values.has_value());
  for (auto* runner : {&a, &b}) {
    runner->fill();
    for (const auto& tensor : *values)
      runner->set(tensor.name, tensor.values);
    runner->run();
    runner->run(); // uses the running statistics of the first run
  }
  for (const auto role : {Role::gradient, Role::statistic, Role::output})
    for (const auto id : plain.with_role(role)) {
      INFO(plain[id].name);
      CHECK(relative_error(b.get(plain[id].name), a.get(plain[id].name)) < tolerance);
    }
}

} // namespace

TEST_CASE("a fused pooling reads the input of its batch norm and returns that input's gradient") {
  const bool sums = GENERATE(true, false);
  const auto plain = prepared_stem(stem(), {});
  const auto fused = prepared_stem(stem(), {.fuse_statistics = support(sums)});
  CHECK(pools_what_it_normalizes(fused));
  CHECK(count(fused, Op::batch_norm_statistics) == (sums ? 0 : 1));
  CHECK(count(fused, Op::batch_norm_finalize) == (sums ? 1 : 0));
  for (const auto op : {Op::batch_norm, Op::scale_shift, Op::max_pool_backward})
    CHECK(count(fused, op) == 0);
  CHECK(count(fused, Op::batch_norm_backward) == 1);
  check_same_stem(plain, fused, 1e-4);
}

TEST_CASE("a pooling is not fused with its batch norm if something prevents it") {
  SECTION("another node reads the result") {
    const auto fused = prepared_stem(stem(true), {.fuse_statistics = support(false)});
    CHECK_FALSE(pools_what_it_normalizes(fused));
    check_same_stem(prepared_stem(stem(true), {}), fused, 1e-4);
  }
  SECTION("the result is kept") {
    PassOptions options{.fuse_statistics = support(false)};
    options.memory.keep = {"relu"};
    CHECK_FALSE(pools_what_it_normalizes(prepared_stem(stem(), options)));
  }
  SECTION("the statistics are synchronized") {
    CHECK_FALSE(pools_what_it_normalizes(
        prepared_stem(stem(), {.fuse_statistics = support(false), .sync_batch_norm = true})));
  }
  SECTION("the device does not support it") {
    const FusionSupport no_statistics{[](const Graph&, const Node& node) {
      const auto* const convolution = std::get_if<Conv2dAttributes>(&node.attributes);
      const bool sums = convolution && convolution->statistics;
      return sums || node.op == Op::batch_norm_statistics ? std::nullopt : std::optional{0.0};
    }};
    CHECK_FALSE(
        pools_what_it_normalizes(prepared_stem(stem(), {.fuse_statistics = no_statistics})));
  }
  SECTION("it is slower") {
    const FusionSupport slow{[](const Graph&, const Node& node) {
      const auto* const pool = std::get_if<PoolAttributes>(&node.attributes);
      return std::optional{pool && pool->prologue ? 1.0 : 0.0};
    }};
    CHECK_FALSE(pools_what_it_normalizes(prepared_stem(stem(), {.fuse_statistics = slow})));
  }
}
