#include "golden_recipe.hpp"

#include "troupe/nn/schedule.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

TEST_CASE("schedules give PyTorch's learning rates") {
  const auto golden = read_golden("schedules.json");
  const double lr = golden.at("lr");
  const ScheduleSpan span{golden.at("steps_per_epoch"), golden.at("total_steps")};
  for (const auto& c : golden.at("cases")) {
    ScheduleConfig schedule{.name = c.at("name"), .warmup = c.at("warmup")};
    schedule.milestones = c.value("milestones", std::vector<double>{});
    schedule.gamma = c.value("gamma", 0.1);
    schedule.min_lr = c.value("min_lr", 0.0);
    const auto expected = c.at("rates").get<std::vector<double>>();
    for (std::size_t step = 0; step < expected.size(); ++step) {
      INFO(schedule.name << " warm-up " << schedule.warmup << " step " << step);
      CHECK(std::abs(learning_rate(schedule, lr, static_cast<std::int64_t>(step), span) -
                     expected[step]) < 1e-8);
    }
  }
}

TEST_CASE("milestones and warm-up may be parts of an epoch") {
  const ScheduleConfig schedule{.name = "step", .warmup = 0.5, .milestones = {1.5}, .gamma = 0.5};
  const ScheduleSpan span{4, 100};
  CHECK(learning_rate(schedule, 1.0, 0, span) == 0.5);
  CHECK(learning_rate(schedule, 1.0, 1, span) == 1.0);
  CHECK(learning_rate(schedule, 1.0, 5, span) == 1.0);
  CHECK(learning_rate(schedule, 1.0, 6, span) == 0.5);
}

TEST_CASE("past its end cosine stays at the smallest rate") {
  const ScheduleConfig schedule{.name = "cosine", .min_lr = 0.01};
  CHECK(std::abs(learning_rate(schedule, 1.0, 100, {10, 100}) - 0.01) < 1e-12);
  CHECK(std::abs(learning_rate(schedule, 1.0, 1000, {10, 100}) - 0.01) < 1e-12);
}
