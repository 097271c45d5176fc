// Tests the predicted number of launches in a step against the count of the emulated runtime.
#include "bench/gpu/trainer.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cstdint>

/// Null on a GPU (tests/emulation/runtime/loading.hpp).
extern "C" std::uint64_t troupe_emulated_launches() __attribute__((weak));

using namespace troupe;

namespace {

/// Reduces the batch and the images; 66 pixels suit a ResNet's stem with pooling.
bench::Options small(bench::Options options) {
  options.batch = 2;
  options.size = options.model == "mlp" ? 32 : 66;
  return options;
}

} // namespace

TEST_CASE("a step launches as many kernels as predicted") {
  if (!troupe_emulated_launches)
    SKIP("launches are counted on the emulated device");
  const auto options = GENERATE(
      values<bench::Options>({{.model = "resnet50", .precision = "amp_fp16"},
                              {.model = "resnet18", .precision = "amp_fp16", .fusion = "basic"},
                              {.model = "resnet18", .precision = "fp16"},
                              {.model = "resnet18", .precision = "fp32"},
                              {.model = "mlp", .precision = "amp_bf16"}}));
  CAPTURE(options.model, options.precision, options.fusion);
  bench::Trainer trainer{small(options)};
  const auto before = troupe_emulated_launches();
  trainer.step(); // the first step, which is not a graph yet
  trainer.synchronize();
  const auto launched = troupe_emulated_launches() - before;
  CHECK(launched == static_cast<std::uint64_t>(total(trainer.count()).launches));
}
