// Tests the bytes that a step moves and its launches, by the plans of GPUs that are only described.
#include "bench/gpu/step_count.hpp"
#include "tests/gpu/cudnn_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// ResNet-50 at 224 pixels, 1000 classes, batch 128, SGD with momentum.
Config resnet50(Precision precision) {
  Config config;
  config.model.name = "resnet50";
  config.model.stem = Stem::imagenet;
  config.model.num_classes = 1000;
  config.data.image_size = 224;
  config.data.batch_size = 128;
  config.precision.mode = precision;
  return config;
}

gpu::Traffic count(const std::string& device, const Config& config) {
  gpu::PlanRegistry plans{described_gpu(device)};
  const auto works = bench::count_step(config, plans);
  if (!works)
    FAIL(works.error().to_string());
  return total(*works);
}

/// Upper bounds for a step. A change that reduces bytes or launches also lowers the bound, to keep
/// the gain.
struct Bound {
  const char* device;
  Precision precision;
  double gigabytes;
  int launches;
};

} // namespace

TEST_CASE("a step of ResNet-50 moves no more bytes and launches no more kernels than recorded") {
  for (const auto& bound : {Bound{"h100_sxm", Precision::amp_fp16, 34.80, 299},
                            Bound{"h200", Precision::amp_fp16, 34.80, 299},
                            Bound{"h100_sxm", Precision::amp_bf16, 44.35, 399}}) {
    const auto step = count(bound.device, resnet50(bound.precision));
    CAPTURE(bound.device, to_string(bound.precision));
    CHECK(step.moved() <= 1e9 * bound.gigabytes);
    CHECK(step.launches <= bound.launches);
  }
}

TEST_CASE("a step of ResNet-50 has the operations of its layers") {
  // 4.089 billion multiplications per image, times three except for the stem's, which needs no
  // gradient of images; the multiplications with its fourth channel of zeros count, too.
  constexpr double stem = 112 * 112 * 64 * 49, layers = 4.089184256e9 - 3 * stem;
  const auto counted = count("h100_sxm", resnet50(Precision::amp_fp16)).operations;
  CHECK(counted == 2 * 128 * (3 * layers + 2 * 4 * stem));
}

TEST_CASE("a step with several micro-batches or workers is not counted") {
  gpu::PlanRegistry plans{described_gpu("h100_sxm")};
  auto several = resnet50(Precision::amp_fp16);
  several.train.accumulate = 2;
  const auto counted = bench::count_step(several, plans);
  REQUIRE_FALSE(counted);
  CHECK_THAT(counted.error().message, Catch::Matchers::ContainsSubstring("micro-batch"));
}
