// Tests the predicted number of launches in a step against the count of the emulated runtime.
#include "bench/gpu/trainer.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cstdint>

/// Null on a GPU (tests/emulation/runtime/loading.hpp).
extern "C" std::uint64_t troupe_emulated_launches() __attribute__((weak));

using namespace troupe;

namespace {

/// A language model of two blocks.
bench::Options small_language_model(const std::string& name, Precision precision,
                                    Fusion fusion = Fusion::full) {
  return {.model = name,
          .precision = precision,
          .fusion = fusion,
          .sequence = 16,
          .vocabulary = 40,
          .layers = 2,
          .width = 48};
}

/// Reduces the batch and the images; 66 pixels suit a ResNet's stem with pooling. Measures nothing:
/// on the emulated device it would depend on chance whether an epilogue is faster than kernels.
bench::Options small(bench::Options options) {
  options.batch = 2;
  options.deterministic = true;
  options.size = options.model == "mlp" ? 32 : 66;
  return options;
}

} // namespace

TEST_CASE("a step launches as many kernels as predicted") {
  if (!troupe_emulated_launches)
    SKIP("launches are counted on the emulated device");
  const auto options = GENERATE(
      values<bench::Options>({{.model = "resnet50"},
                              {.model = "resnet18", .fusion = Fusion::basic},
                              {.model = "resnet18", .precision = Precision::fp16},
                              {.model = "resnet18", .precision = Precision::fp32},
                              {.model = "mlp", .precision = Precision::amp_bf16},
                              small_language_model("gpt2-mini", Precision::amp_bf16),
                              small_language_model("gpt2-mini", Precision::amp_bf16, Fusion::basic),
                              small_language_model("gpt2-mini", Precision::fp32),
                              small_language_model("llama-mini", Precision::amp_bf16)}));
  CAPTURE(options.model, to_string(options.precision), to_string(options.fusion));
  bench::Trainer trainer{small(options)};
  const auto before = troupe_emulated_launches();
  trainer.step(); // the first step, which is not a graph yet
  trainer.synchronize();
  const auto launched = troupe_emulated_launches() - before;
  CHECK(launched == static_cast<std::uint64_t>(total(trainer.count()).launches));
}
