// Tests the memory of attention and of the loss of language models on the host: it is linear in the
// text's length.
#include "core/device/executable.hpp"
#include "cpu/host_device.hpp"
#include "nn/builder.hpp"
#include "nn/compile.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace troupe;

namespace {

constexpr std::int64_t heads = 4, head_dim = 8;

/// Builds attention over embedded tokens and the loss of a head with `classes` classes; with its
/// gradient in training.
nn::PreparedModel model_of(std::int64_t tokens, std::int64_t classes, nn::PassMode pass_mode) {
  constexpr std::int64_t width = heads * head_dim;
  nn::GraphBuilder b;
  b.begin_unit("all");
  const auto ids = b.input("tokens", {1, tokens}, DType::i32);
  const auto labels = b.target("labels", {1, tokens}, DType::i32);
  const auto table = b.parameter("wte.weight", {11, 3 * width}, Initial::normal(0.02));
  const auto weight = b.parameter("head.weight", {classes, width}, Initial::normal(0.02));
  const auto x = b.apply(Op::embedding, "wte", {ids, table});
  const auto y = b.apply(Op::causal_attention, "attention", {x},
                         AttentionAttributes{tokens, heads, heads, head_dim}, {"log_sum_exp"});
  b.apply(Op::linear_cross_entropy, "loss", {y, weight, labels}, LossAttributes{},
          {"log_sum_exp", "counted"});
  auto graph = std::move(b).finish();
  REQUIRE(graph);
  auto prepared = nn::run_passes(*graph, pass_mode, {});
  REQUIRE(prepared);
  return *std::move(prepared);
}

/// Returns the bytes of activations and of the ops' workspace.
double bytes_of_pass(std::int64_t tokens, std::int64_t classes, nn::PassMode pass_mode) {
  const auto model = model_of(tokens, classes, pass_mode);
  const auto device = cpu::make_host_device(0, 2);
  REQUIRE(device->compile(model.graph, {.threads = 2, .memory = model.memory}));
  const auto& peak = device->memory().peak;
  return static_cast<double>(peak[static_cast<std::size_t>(MemoryKind::activations)] +
                             peak[static_cast<std::size_t>(MemoryKind::workspace)]);
}

} // namespace

TEST_CASE("attention's memory grows linearly with the text and holds no full score matrix") {
  const auto pass_mode = GENERATE(nn::PassMode::training, nn::PassMode::evaluation);
  const auto once = bytes_of_pass(2048, 16, pass_mode), twice = bytes_of_pass(4096, 16, pass_mode);
  CHECK(twice < 2.2 * once);
  CHECK(twice < 4096.0 * 4096 * sizeof(float) / 4); // the scores of one of the four heads
}

TEST_CASE("the loss holds a bounded chunk of the logits, for any number of tokens and classes") {
  const auto pass_mode = GENERATE(nn::PassMode::training, nn::PassMode::evaluation);
  const auto once = bytes_of_pass(8192, 32768, pass_mode);
  CHECK(bytes_of_pass(16384, 32768, pass_mode) < 1.2 * once);
  CHECK(bytes_of_pass(8192, 65536, pass_mode) < 1.2 * once);
  CHECK(once < 8192.0 * 32768 * sizeof(float) / 4); // a quarter of all logits
}
