// Tests profiles of training steps; tests/gpu compiles it for CUDA.
#include "core/config/config.hpp"
#include "tests/support/tested_device.hpp"
#include "training/profile/step_profile.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <filesystem>

using namespace troupe;
using namespace troupe::training;
using Catch::Approx;

namespace {

Config profiled_config() {
  Config config;
  config.model.name = "resnet20";
  config.model.width = 4;
  config.data.dataset = "synthetic";
  config.data.limit = 32;
  config.data.image_size = 8;
  config.data.batch_size = 8;
  config.devices.kind = testing::tested_kind;
  config.devices.threads_per_worker = 2;
  config.run.output = "no-such-folder";
  return config;
}

const ProfileRow* find_row(const StepProfile& profile, const std::string& name) {
  const auto found = std::ranges::find(profile.rows, name, &ProfileRow::name);
  return found == profile.rows.end() ? nullptr : &*found;
}

double calls_of_ops(const StepProfile& profile) {
  double calls = 0;
  for (const auto& row : profile.rows)
    if (row.operations > 0)
      calls += row.calls;
  return calls;
}

} // namespace

TEST_CASE("the rows of a profile add up to the step, and products have operations") {
  testing::need_device();
  const auto profile = profile_step(profiled_config(), {.warm_up_steps = 1, .steps = 2});
  INFO((profile ? "" : profile.error().to_string()));
  REQUIRE(profile);
  double sum = 0, operations = 0;
  for (const auto& row : profile->rows) {
    sum += row.seconds;
    operations += row.operations;
  }
  CHECK(sum == Approx(profile->seconds));
  CHECK(profile->seconds > 0);
  CHECK(operations > 0);
  CHECK(profile->samples == 8);
  CHECK(profile->rows.back().name == "between ops");
  REQUIRE(find_row(*profile, "optimizer"));
  CHECK(find_row(*profile, "optimizer")->bytes > 0);
  CHECK_FALSE(std::filesystem::exists("no-such-folder"));
}

TEST_CASE("a step of several passes is profiled as a whole") {
  testing::need_device();
  auto config = profiled_config();
  const ProfileOptions options{.warm_up_steps = 0, .steps = 1};
  const auto once = profile_step(config, options);
  config.data.batch_size *= 2;
  config.train.accumulate = 2;
  const auto twice = profile_step(config, options);
  REQUIRE(once);
  INFO((twice ? "" : twice.error().to_string()));
  REQUIRE(twice);
  CHECK(calls_of_ops(*twice) == 2 * calls_of_ops(*once));
  CHECK_FALSE(find_row(*once, "accumulate"));
  REQUIRE(find_row(*twice, "accumulate"));
  CHECK(find_row(*twice, "optimizer")->calls == 1);
}

TEST_CASE("several workers and offloaded state are refused") {
  auto config = profiled_config();
  if (GENERATE(true, false)) {
    config.devices.count = 2;
    config.parallel.strategy = StrategyKind::ddp;
  } else {
    config.parallel.offload.target = OffloadConfig::Target::optimizer;
  }
  const auto profile = profile_step(config, {});
  REQUIRE_FALSE(profile);
  CHECK(profile.error().code == Errc::invalid_input);
}
