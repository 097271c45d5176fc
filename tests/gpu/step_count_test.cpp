// Tests the bytes that a step moves and its launches, by the plans of GPUs that are only described.
#include "bench/gpu/language_shape.hpp"
#include "bench/gpu/step_count.hpp"
#include "core/config/load.hpp"
#include "nn/config_check.hpp"
#include "tests/gpu/cudnn_fixture.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

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

std::vector<bench::CountedWork> works_of(const std::string& device, const Config& config) {
  gpu::PlanRegistry plans{described_gpu(device)};
  auto works = bench::count_step(config, plans);
  if (!works)
    FAIL(works.error().to_string());
  return std::move(*works);
}

gpu::Traffic count(const std::string& device, const Config& config) {
  return total(works_of(device, config));
}

/// Reads a config of bench/gpu/configs.
Config language_model(const std::string& name) {
  const auto file = source_tree() / "bench/gpu/configs" / (name + ".yaml");
  auto config = load_config(file, {}, Capabilities::all(), nn::model_catalogue());
  if (!config)
    FAIL(config.error().front().to_string());
  return std::move(*config);
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
  for (const auto& bound : {Bound{"h100_sxm", Precision::amp_fp16, 34.80, 297},
                            Bound{"h200", Precision::amp_fp16, 34.80, 297},
                            Bound{"h100_sxm", Precision::amp_bf16, 44.35, 399}}) {
    const auto step = count(bound.device, resnet50(bound.precision));
    CAPTURE(bound.device, to_string(bound.precision));
    CHECK(step.moved() <= 1e9 * bound.gigabytes);
    CHECK(step.launches <= bound.launches);
  }
}

TEST_CASE("a step of a language model moves no more bytes and launches no more kernels per slice "
          "than recorded") {
  struct LanguageBound {
    const char* config;
    double megabytes_per_token;
    int launches_per_slice;
  };
  for (const auto& bound :
       {LanguageBound{"gpt2_124m", 2.45, 284}, LanguageBound{"gpt2_1558m", 18.02, 1028},
        LanguageBound{"llama_1b", 12.68, 878}, LanguageBound{"llama_7b", 46.86, 1265}}) {
    const auto config = language_model(bound.config);
    const auto shape = bench::language_shape(config).value();
    REQUIRE(shape);
    const auto step = count("h100_sxm", config);
    const auto tokens = static_cast<double>(config.data.batch_size * shape->sequence);
    CAPTURE(bound.config);
    CHECK(step.moved() / tokens <= 1e6 * bound.megabytes_per_token);
    CHECK(step.launches <= bound.launches_per_slice * config.slices());
  }
}

TEST_CASE("operations per token follow nanoGPT's formula") {
  // 124,475,904 parameters, of which 786,432 are position embeddings.
  const auto shape = bench::language_shape(language_model("gpt2_124m")).value();
  REQUIRE(shape);
  CHECK(shape->parameters == 124'475'904);
  CHECK(shape->operations_per_token == 6.0 * (124'475'904 - 786'432) + 12.0 * 12 * 768 * 1024);
  CHECK_FALSE(bench::language_shape(resnet50(Precision::amp_fp16)).value());
}

TEST_CASE("a step of several slices repeats the passes and sums the gradients") {
  auto config = language_model("gpt2_124m");
  config.model.layers = 1;
  const auto slices = [&config](std::int64_t count) {
    config.data.batch_size = 16 * count;
    config.data.slices = count;
    auto works = works_of("h100_sxm", config);
    std::vector<bench::CountedWork> sums;
    std::ranges::copy_if(works, std::back_inserter(sums),
                         [](const auto& work) { return work.kind == "sum of slices"; });
    return std::pair{total(works), total(sums)};
  };
  const auto [one, no_sums] = slices(1);
  const auto [two, sum] = slices(2);
  const auto [three, two_sums] = slices(3);
  CHECK(two.operations == 2 * one.operations);
  CHECK(no_sums.moved() == 0);
  // The products of the block's weights add to the gradients, which they read. The gradients of
  // three units' other parameters are added afterwards: two values are read and one is written.
  constexpr double all = 46'509'312, products = 12.0 * 768 * 768;
  CHECK(sum.moved() == sizeof(float) * (3 * (all - products) + products));
  CHECK(two_sums.moved() == 2 * sum.moved());
  CHECK(three.moved() - two.moved() == Catch::Approx(two.moved() - one.moved()));
  CHECK(sum.launches == 3);
  CHECK(three.launches - two.launches == two.launches - one.launches);
}

TEST_CASE("a step of ResNet-50 has the operations of its layers") {
  // 4.089 billion multiplications per image, times three except for the stem's, which needs no
  // gradient of images; the multiplications with its fourth channel of zeros count, too.
  constexpr double stem = 112 * 112 * 64 * 49, layers = 4.089184256e9 - 3 * stem;
  const auto counted = count("h100_sxm", resnet50(Precision::amp_fp16)).operations;
  CHECK(counted == 2 * 128 * (3 * layers + 2 * 4 * stem));
}

TEST_CASE("a step of several workers or of unequal slices is not counted") {
  gpu::PlanRegistry plans{described_gpu("h100_sxm")};
  const auto refusal = [&plans](const Config& config) {
    const auto counted = bench::count_step(config, plans);
    REQUIRE_FALSE(counted);
    return counted.error().message;
  };
  auto workers = resnet50(Precision::amp_fp16), slices = workers;
  workers.devices.count = 2;
  CHECK_THAT(refusal(workers), Catch::Matchers::ContainsSubstring("2 workers"));
  slices.data.slices = 3;
  CHECK_THAT(refusal(slices), Catch::Matchers::ContainsSubstring("3 slices"));
}
