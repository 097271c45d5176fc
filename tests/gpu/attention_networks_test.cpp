// Trains language models with cuDNN's attention and with the project's kernels.
#include "gpu/alignment.hpp"
#include "nn/compile.hpp"
#include "tests/devices/compare.hpp"
#include "tests/gpu/empty_plan_cache.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>

/// Null on a GPU (tests/emulation/runtime/loading.hpp).
extern "C" std::uint64_t troupe_emulated_launches() __attribute__((weak));

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Two blocks with heads of 16 elements.
nn::PreparedModel language_model(const ModelConfig& config, Precision precision) {
  const nn::InputSpec tokens{.name = "tokens", .sample = {40}, .vocabulary = 30};
  const auto graph = nn::build_model(config, {.input = tokens, .batch = 2});
  REQUIRE(graph);
  auto prepared = nn::run_passes(*graph, nn::PassMode::training,
                                 {.fuse = nn::FusePatterns::all(),
                                  .precision = precision,
                                  .memory = {.alignment = gpu::tensor_alignment}});
  REQUIRE(prepared);
  return std::move(*prepared);
}

/// `fused`: cuDNN computes attention.
RunOptions with_attention(bool fused, bool deterministic, Precision precision,
                          const MemoryPlan& memory) {
  auto options = options_for(precision, memory);
  options.compile = [fused, deterministic](Device& on, const Graph& graph,
                                           const CompileOptions& with) {
    auto changed = with;
    changed.fused_attention = fused;
    changed.deterministic = deterministic;
    return on.compile(graph, changed);
  };
  return options;
}

/// Compares six steps of SGD: in bf16, and in fp16 with deterministic engines.
void require_same_training(const ModelConfig& config) {
  const auto device = device_or_skip();
  const Steps steps{.count = 6, .batches = 2, .whole = true, .learn = true};
  for (const auto precision : {Precision::amp_bf16, Precision::amp_fp16}) {
    const bool deterministic = precision == Precision::amp_fp16;
    INFO(config.name << ", " << to_string(precision));
    const auto model = language_model(config, precision);
    const auto run = [&](bool fused) {
      return run_graph(*device, model.graph,
                       with_attention(fused, deterministic, precision, model.memory), steps);
    };
    const auto fused = run(true), plain = run(false);
    require_same_losses(fused, plain, precision);
    CHECK(fused.losses().back() < fused.losses()[1]);  // losses of one batch
    CHECK(fused.raw_gradients != plain.raw_gradients); // else, both used the same attention
  }
}

} // namespace

TEST_CASE("a GPT-2 trains alike with cuDNN's attention and with the kernels") {
  require_same_training({.name = "gpt2", .width = 64, .layers = 2, .heads = 4});
}

TEST_CASE("a LLaMA with shared heads trains alike with cuDNN's attention and with the kernels") {
  require_same_training(
      {.name = "llama-110m", .width = 64, .layers = 2, .heads = 4, .kv_heads = 2});
}

TEST_CASE("a language model trains with the kernels if no engine of attention runs") {
  if (!troupe_emulated_launches)
    SKIP("engines fail on the emulated device");
  const EmptyPlanCache cache;
  const EnvironmentVariable failing{"TROUPE_EMULATED_NO_ATTENTION", "1"};
  const auto device = device_or_skip();
  const auto model =
      language_model({.name = "gpt2", .width = 64, .layers = 2, .heads = 4}, Precision::amp_bf16);
  const auto gradients = [&](bool fused) {
    return run_graph(*device, model.graph,
                     with_attention(fused, false, Precision::amp_bf16, model.memory))
        .raw_gradients;
  };
  CHECK(gradients(true) == gradients(false));
}
