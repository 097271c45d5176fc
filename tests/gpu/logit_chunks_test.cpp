// Tests losses whose logits never exist all at once.
#include "gpu/lowering/linear_cross_entropy.hpp"
#include "nn/builder.hpp"
#include "nn/compile.hpp"
#include "tests/devices/compare.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::testing;

namespace {

gpu::LogitChunks chunks_of(std::int64_t rows, std::int64_t classes, DType dtype = DType::f32,
                           std::size_t logit_bytes = CompileOptions{}.logit_bytes) {
  Graph graph;
  const auto x = graph.add_tensor({.name = "x", .shape = {rows, 8}, .dtype = dtype});
  const auto weight = graph.add_tensor({.name = "weight", .shape = {classes, 8}});
  return {graph, Node{Op::linear_cross_entropy, {x, weight}, {}}, logit_bytes};
}

/// Builds one vector per token and a separate head with `classes` classes.
nn::PreparedModel head(std::int64_t tokens, std::int64_t classes, Precision precision) {
  nn::GraphBuilder b;
  b.begin_unit("all");
  const auto ids = b.input("tokens", {1, tokens}, DType::i32);
  const auto labels = b.target("labels", {1, tokens}, DType::i32);
  const auto table = b.parameter("wte.weight", {11, 1}, Initial::normal(0.02));
  const auto weight = b.parameter("head.weight", {classes, 1}, Initial::normal(0.02));
  b.apply(Op::linear_cross_entropy, "loss",
          {b.apply(Op::embedding, "wte", {ids, table}), weight, labels},
          LossAttributes{.label_smoothing = 0.1f}, {"log_sum_exp", "counted"});
  auto graph = std::move(b).finish();
  REQUIRE(graph);
  auto prepared = nn::run_passes(*graph, nn::PassMode::training, {.precision = precision});
  REQUIRE(prepared);
  return std::move(*prepared);
}

} // namespace

TEST_CASE("logits are computed in chunks of several groups of 128 rows") {
  const auto gpt2 = chunks_of(5000, 50304);
  CHECK(gpt2.chunk() == 5000); // of 5,336 that fit into 1 GiB
  const auto more = chunks_of(10'000, 50304);
  CHECK(more.chunk() == 5120); // half of them, as a multiple of 128
  CHECK(more.count() == 2);
  CHECK(more.last() == 10'000 - 5120);
  CHECK(chunks_of(10'000, 50304, DType::bf16).count() == 1);
  const auto few = chunks_of(100, 50304);
  CHECK(few.chunk() == 100);
  CHECK(few.count() == 1);
  CHECK(few.last() == 100);
  const auto many_classes = chunks_of(256, 10'000'000);
  CHECK(many_classes.chunk() == 128);
  CHECK(many_classes.last() == 128);
}

// Does not measure: that would take minutes on the emulated device.
TEST_CASE("chunks of logits give the same loss and gradients as all at once") {
  const auto device = device_or_skip();
  constexpr std::int64_t tokens = 300, classes = 1000;
  constexpr std::size_t logit_bytes = std::size_t{1} << 19;
  REQUIRE(chunks_of(tokens, classes, DType::f32, logit_bytes).count() == 3);
  REQUIRE(chunks_of(tokens, classes, DType::bf16, logit_bytes).count() == 2);
  RunOptions options;
  options.compile = [](Device& on, const Graph& graph, const CompileOptions& with) {
    auto few = with;
    few.deterministic = true;
    few.logit_bytes = logit_bytes;
    return on.compile(graph, few);
  };
  for (const auto precision : {Precision::fp32, Precision::amp_bf16, Precision::amp_fp16}) {
    CAPTURE(to_string(precision));
    const auto model = head(tokens, classes, precision);
    require_same_pass(run_graph(*device, model.graph, options), run_reference(model.graph),
                      precision);
  }
}
