#include "training/sampling/training_sample.hpp"

#include "core/fail.hpp"
#include "training/without_training.hpp"

namespace troupe::training {

Config sample_config(const Config& training) {
  auto config = without_training(training);
  config.precision = {};
  config.devices.kind = DeviceKind::cpu;
  config.devices.threads_per_worker = 1;
  return config;
}

GenerateOptions sample_options(const Config& training, std::int64_t steps) {
  const auto& sample = training.train.sample;
  return {.prompt = sample.prompt,
          .tokens = sample.tokens,
          .sampling = {.seed = static_cast<std::uint64_t>(training.run.seed) +
                               static_cast<std::uint64_t>(steps)}};
}

Status check_sample(const Config& training) {
  if (training.train.sample.every.unit == Interval::Unit::never)
    return {};
  if (const auto read = read_prompt(training, sample_options(training, 0)); !read)
    return fail(read.error().code, "train.sample: {}", read.error().message);
  return {};
}

} // namespace troupe::training
