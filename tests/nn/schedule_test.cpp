#include "nn/schedule.hpp"
#include "tests/nn/golden_recipe.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cmath>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;
using Catch::Approx;
using Unit = Length::Unit;

TEST_CASE("schedules match PyTorch's learning rates") {
  const auto golden = read_golden("schedules.json");
  const double lr = golden.at("lr");
  const ScheduleSpan span{golden.at("steps_per_epoch"), golden.at("total_steps")};
  for (const auto& c : golden.at("cases")) {
    const auto name = c.at("name").get<std::string>();
    ScheduleConfig schedule{.name = choice_named<ScheduleKind>(name).value(),
                            .warmup = {c.at("warmup").get<double>()}};
    for (const double epoch : c.value("milestones", std::vector<double>{}))
      schedule.milestones.push_back({epoch});
    schedule.gamma = c.value("gamma", 0.1);
    schedule.min_lr = c.value("min_lr", 0.0);
    const auto expected = c.at("rates").get<std::vector<double>>();
    for (std::size_t step = 0; step < expected.size(); ++step) {
      INFO(name << " warm-up " << schedule.warmup.count << " step " << step);
      CHECK(std::abs(learning_rate(schedule, lr, static_cast<std::int64_t>(step), span) -
                     expected[step]) < 1e-8);
    }
  }
}

TEST_CASE("milestones and warm-up may be fractions of an epoch") {
  const ScheduleConfig schedule{
      .name = ScheduleKind::step, .warmup = {0.5}, .milestones = {{1.5}}, .gamma = 0.5};
  const ScheduleSpan span{4, 100};
  CHECK(learning_rate(schedule, 1.0, 0, span) == 0.5);
  CHECK(learning_rate(schedule, 1.0, 1, span) == 1.0);
  CHECK(learning_rate(schedule, 1.0, 5, span) == 1.0);
  CHECK(learning_rate(schedule, 1.0, 6, span) == 0.5);
}

TEST_CASE("after its end cosine stays at the smallest rate") {
  const ScheduleConfig schedule{.name = ScheduleKind::cosine, .min_lr = 0.01};
  CHECK(std::abs(learning_rate(schedule, 1.0, 100, {10, 100}) - 0.01) < 1e-12);
  CHECK(std::abs(learning_rate(schedule, 1.0, 1000, {10, 100}) - 0.01) < 1e-12);
}

TEST_CASE("equal lengths in any unit give the same schedule") {
  // 40 steps of 25 tokens, 8 steps per epoch.
  const ScheduleSpan span{8, 40, 25};
  const auto length =
      GENERATE(Length{0.5}, Length{4, Unit::steps}, Length{100, Unit::tokens},
               Length{10, Unit::percent}, Length{0.45} /* 3.6 steps */, Length{89, Unit::tokens});
  INFO(format_length(length));
  for (const auto name :
       {ScheduleKind::constant, ScheduleKind::cosine, ScheduleKind::linear, ScheduleKind::wsd}) {
    const ScheduleConfig schedule{.name = name, .warmup = length};
    for (std::int64_t step = 0; step < 4; ++step)
      CHECK(learning_rate(schedule, 2.0, step, span) == 0.5 * static_cast<double>(step + 1));
    CHECK(learning_rate(schedule, 2.0, 4, span) == 2.0);
  }
  const ScheduleConfig steps{.name = ScheduleKind::step, .milestones = {length}, .gamma = 0.5};
  CHECK(learning_rate(steps, 2.0, 3, span) == 2.0);
  CHECK(learning_rate(steps, 2.0, 4, span) == 1.0);
  const ScheduleConfig wsd{.name = ScheduleKind::wsd, .decay = length};
  CHECK(learning_rate(wsd, 2.0, 36, span) == 2.0);
  CHECK(learning_rate(wsd, 2.0, 37, span) == Approx(1.0)); // 1 - sqrt(1/4)
  CHECK(learning_rate(wsd, 2.0, 39, span) == Approx(2 * (1 - std::sqrt(0.75))));
}

TEST_CASE("linear falls linearly from the warm-up to the end") {
  const ScheduleConfig schedule{
      .name = ScheduleKind::linear, .warmup = {2, Unit::steps}, .min_lr = 0.2};
  const ScheduleSpan span{5, 10};
  CHECK(learning_rate(schedule, 1.0, 0, span) == 0.5);
  CHECK(learning_rate(schedule, 1.0, 2, span) == 1.0);
  CHECK(learning_rate(schedule, 1.0, 3, span) == Approx(0.9));
  CHECK(learning_rate(schedule, 1.0, 6, span) == Approx(0.6));
  CHECK(learning_rate(schedule, 1.0, 9, span) == Approx(0.3));
  CHECK(learning_rate(schedule, 1.0, 10, span) == 0.2);
  CHECK(learning_rate(schedule, 1.0, 99, span) == 0.2);
}

TEST_CASE("wsd is stable between warm-up and decay, and ends near min_lr") {
  const ScheduleConfig schedule{
      .name = ScheduleKind::wsd, .warmup = {10, Unit::percent}, .min_lr = 0.001};
  const ScheduleSpan span{7, 1000};
  CHECK(learning_rate(schedule, 0.3, 99, span) == 0.3);
  CHECK(learning_rate(schedule, 0.3, 899, span) == 0.3); // the default decay: a tenth of the run
  CHECK(learning_rate(schedule, 0.3, 900, span) == 0.3);
  CHECK(learning_rate(schedule, 0.3, 925, span) == Approx(0.001 + 0.299 * 0.5));
  CHECK(learning_rate(schedule, 0.3, 999, span) == Approx(0.001 + 0.299 * (1 - std::sqrt(0.99))));
  CHECK(learning_rate(schedule, 0.3, 1000, span) == 0.001);
  for (std::int64_t step = 900; step < 1000; ++step)
    CHECK(learning_rate(schedule, 0.3, step + 1, span) < learning_rate(schedule, 0.3, step, span));
}

TEST_CASE("wsd in a longer run has the same rates until a shorter run decays") {
  const ScheduleConfig schedule{
      .name = ScheduleKind::wsd, .warmup = {5, Unit::steps}, .decay = {20, Unit::steps}};
  for (std::int64_t step = 0; step < 80; ++step)
    CHECK(learning_rate(schedule, 1.0, step, {10, 100}) ==
          learning_rate(schedule, 1.0, step, {10, 5000}));
}

TEST_CASE("wsd without room for a stable phase decays after its warm-up or not at all") {
  const ScheduleConfig crowded{
      .name = ScheduleKind::wsd, .warmup = {6, Unit::steps}, .decay = {8, Unit::steps}};
  CHECK(learning_rate(crowded, 1.0, 5, {10, 10}) == 1.0);
  CHECK(learning_rate(crowded, 1.0, 6, {10, 10}) == 1.0);
  CHECK(learning_rate(crowded, 1.0, 7, {10, 10}) ==
        Approx(0.5)); // in the middle of the 4 remaining steps, not of 8
  const ScheduleConfig stable{.name = ScheduleKind::wsd, .decay = {0}};
  CHECK(learning_rate(stable, 1.0, 9, {10, 10}) == 1.0);
}

TEST_CASE("lengths that do not fit into the run are refused") {
  const ScheduleSpan span{10, 100, 8};
  const auto refusal = [&](const ScheduleConfig& schedule) {
    const auto status = check_lengths(schedule, span);
    return status ? std::string{} : status.error().message;
  };
  CHECK(refusal({.warmup = {99, Unit::steps}}).empty());
  CHECK(refusal({.warmup = {100, Unit::steps}}) ==
        "train.schedule.warmup: 100 steps of warm-up, but the run has only 100 steps");
  CHECK(refusal({.warmup = {9.99}})
            .empty()); // of 10 epochs; rounded to whole steps it is the whole run
  CHECK(refusal({.warmup = {1000, Unit::tokens}}) ==
        "train.schedule.warmup: 125 steps of warm-up, but the run has only 100 steps");
  CHECK(refusal({.warmup = {1e300}}).starts_with("train.schedule.warmup: 1000000000000000000 "));
  CHECK(refusal({.name = ScheduleKind::step, .milestones = {{5}, {90, Unit::percent}}}).empty());
  CHECK(refusal({.name = ScheduleKind::step, .milestones = {{5}, {99, Unit::steps}}}).empty());
  CHECK(refusal({.name = ScheduleKind::step, .milestones = {{5}, {100, Unit::steps}}}) ==
        "train.schedule.milestones: 100 steps, step 100, is never reached in 100 steps");
  CHECK(refusal({.name = ScheduleKind::step, .milestones = {{5}, {1600, Unit::tokens}, {6}}}) ==
        "train.schedule.milestones: 1600 tokens, step 200, is never reached in 100 steps");
  CHECK(refusal({.name = ScheduleKind::wsd, .warmup = {40, Unit::steps}, .decay = {6}}).empty());
  CHECK(refusal({.name = ScheduleKind::wsd, .warmup = {41, Unit::steps}, .decay = {6}}) ==
        "train.schedule.decay: 41 steps of warm-up and 60 of decay are more than the run's 100 "
        "steps");
  CHECK(refusal({.name = ScheduleKind::cosine, .warmup = {41, Unit::steps}, .decay = {6}}).empty());
}
