// Tests the samples that a language model writes during training.
#include "core/config/config.hpp"
#include "training/sampling/training_sample.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

using namespace troupe;
using namespace troupe::training;

namespace {

/// Config of GPT-2 on bytes, with 32 positions.
Config trained(const std::string& prompt) {
  Config config;
  config.run.seed = 7;
  config.model.name = "gpt2-mini";
  config.model.layers = 1;
  config.model.width = 32;
  config.model.heads = 2;
  config.model.positions = 32;
  config.data.dataset = "text";
  config.data.root = "text";
  config.data.sequence_length = 32;
  config.train.sample = {{Interval::Unit::steps, 10}, prompt, 50};
  return config;
}

} // namespace

TEST_CASE("a sample uses the seed of its step and one thread of the host in fp32") {
  auto config = trained("And God");
  config.precision.mode = Precision::amp_bf16;
  config.devices.kind = DeviceKind::cuda;
  config.devices.count = 8;
  config.parallel.strategy = StrategyKind::zero3;
  const auto options = sample_options(config, 30);
  CHECK(options.prompt == "And God");
  CHECK(options.tokens == 50);
  CHECK(options.sampling.seed == 37);
  const auto used = sample_config(config);
  CHECK(used.precision.mode == Precision::fp32);
  CHECK(used.devices.kind == DeviceKind::cpu);
  CHECK(used.devices.count == 1);
  CHECK(used.devices.threads_per_worker == 1);
  CHECK(used.parallel.strategy == StrategyKind::single);
  CHECK(used.model == config.model);
  CHECK(used.data.tokenizer == config.data.tokenizer);
}

TEST_CASE("a prompt that is too long is refused before training") {
  CHECK(check_sample(trained("")));
  CHECK(check_sample(trained(std::string(32, 'a'))));
  const auto refused = check_sample(trained(std::string(33, 'a')));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::invalid_input);
  CHECK(refused.error().message ==
        "train.sample: the prompt has 33 tokens, but the model has only 32 positions");
}

TEST_CASE("a prompt is checked only if samples are requested") {
  auto config = trained(std::string(33, 'a'));
  config.train.sample.every = {};
  CHECK(check_sample(config));
}
