// That a step launches as often as is counted: by the emulated runtime, which counts too.
#include "../../bench/gpu/trainer.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cstdint>

/// Null on a GPU (tests/emulation/runtime/loading.hpp).
extern "C" std::uint64_t troupe_emulated_launches() __attribute__((weak));

using namespace troupe;

TEST_CASE("a step launches what is counted") {
  if (!troupe_emulated_launches)
    SKIP("launches are counted on the emulated device");
  const auto* const precision = GENERATE("amp_fp16", "amp_bf16", "fp16", "fp32");
  const auto* const fusion = GENERATE("full", "basic");
  CAPTURE(precision, fusion);
  bench::Trainer trainer{
      {.model = "resnet50", .precision = precision, .fusion = fusion, .batch = 2, .size = 66}};
  const auto before = troupe_emulated_launches();
  trainer.step(); // the first: it is no graph yet
  trainer.synchronize();
  const auto launched = troupe_emulated_launches() - before;
  CHECK(launched == static_cast<std::uint64_t>(total(trainer.count()).launches));
}
