#include "core/config/config.hpp"
#include "training/job_plan.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using training::JobPlan;

namespace {

Config three_epochs() {
  Config config;
  config.train.epochs = 3;
  return config;
}

} // namespace

TEST_CASE("by default a job pauses to evaluate at the end of every epoch") {
  const JobPlan plan{three_epochs(), 10};
  CHECK(plan.total_steps() == 30);
  CHECK(plan.next_pause(0) == 10);
  CHECK(plan.next_pause(9) == 10);
  CHECK(plan.next_pause(10) == 20);
  CHECK(plan.evaluation_due(10));
  CHECK_FALSE(plan.evaluation_due(11));
  CHECK(plan.checkpoint_due(20));
  CHECK_FALSE(plan.checkpoint_due(0));
}

TEST_CASE("max_steps ends a job early, with an evaluation and a checkpoint") {
  auto config = three_epochs();
  config.train.max_steps = 14;
  const JobPlan plan{config, 10};
  CHECK(plan.total_steps() == 14);
  CHECK(plan.next_pause(10) == 14);
  CHECK(plan.epoch_ends(14));
  CHECK(plan.evaluation_due(14));
  CHECK(plan.checkpoint_due(14));
  CHECK(plan.saves_while_training()); // a checkpoint is due after 10 steps
  config.train.max_steps = 10;
  CHECK_FALSE(JobPlan{config, 10}.saves_while_training());
}

TEST_CASE("the first of epochs, max_steps and max_tokens ends a job") {
  auto config = three_epochs();
  config.data.dataset = "text";
  config.data.batch_size = 4;
  config.data.sequence_length = 25;
  const auto total = [&] { return JobPlan{config, 10}.total_steps(); };
  config.train.max_tokens = 1740; // at 100 tokens per step
  CHECK(total() == 17);
  config.train.max_steps = 16;
  CHECK(total() == 16);
  config.train.epochs = 1;
  CHECK(total() == 10);
  config.train.epochs.reset(); // no limit of epochs
  config.train.max_steps = 70;
  config.train.max_tokens = 9000;
  CHECK(total() == 70);
  CHECK(JobPlan{config, 10}.next_pause(69) == 70);
  config.train.max_steps.reset();
  CHECK(total() == 90);
  config.train.max_tokens = 1;
  CHECK(total() == 1);
}

TEST_CASE("an epoch without an evaluation or checkpoint ends without a pause") {
  auto config = three_epochs();
  config.checkpoint.every = {};
  config.train.evaluate_every = 2;
  const JobPlan plan{config, 10};
  CHECK(plan.next_pause(0) == 20);
  CHECK(plan.epoch_ends(10));
  CHECK_FALSE(plan.evaluation_due(10));
  CHECK(plan.next_pause(20) == 30);
}

TEST_CASE("checkpoints by steps fall between epochs") {
  auto config = three_epochs();
  config.checkpoint.every = {Interval::Unit::steps, 4};
  const JobPlan plan{config, 10};
  CHECK(plan.next_pause(0) == 4);
  CHECK(plan.next_pause(8) == 10);
  CHECK(plan.checkpoint_due(12));
  CHECK_FALSE(plan.checkpoint_due(10));
  CHECK(plan.checkpoint_due(30));
}

TEST_CASE("never disables evaluation and checkpoints") {
  auto config = three_epochs();
  config.checkpoint.every = {};
  config.train.evaluate_every = 0;
  const JobPlan plan{config, 10};
  CHECK_FALSE(plan.saves());
  CHECK_FALSE(plan.checkpoint_due(30));
  CHECK_FALSE(plan.evaluation_due(30));
}

TEST_CASE("evaluation every second epoch also happens at the end") {
  auto config = three_epochs();
  config.train.evaluate_every = 2;
  const JobPlan plan{config, 10};
  CHECK_FALSE(plan.evaluation_due(10));
  CHECK(plan.evaluation_due(20));
  CHECK(plan.evaluation_due(30));
}

TEST_CASE("samples are generated at the configured interval and at the end") {
  auto config = three_epochs();
  config.train.evaluate_every = 0;
  config.checkpoint.every = {};
  CHECK_FALSE(JobPlan{config, 10}.writes_samples());
  CHECK_FALSE(JobPlan{config, 10}.sample_due(30));
  config.train.sample.every = {Interval::Unit::steps, 8};
  const JobPlan plan{config, 10};
  CHECK(plan.writes_samples());
  CHECK_FALSE(plan.sample_due(0));
  CHECK_FALSE(plan.sample_due(10));
  CHECK(plan.sample_due(16));
  CHECK(plan.sample_due(30)); // the end
  CHECK(plan.next_pause(0) == 8);
  CHECK(plan.next_pause(8) == 16);
  CHECK(plan.next_pause(24) == 30);
  CHECK_FALSE(plan.checkpoint_due(16));
  CHECK_FALSE(plan.evaluation_due(16));
  config.train.sample.every = {Interval::Unit::epochs, 2};
  const JobPlan by_epochs{config, 10};
  CHECK(by_epochs.next_pause(0) == 20);
  CHECK_FALSE(by_epochs.sample_due(10));
  CHECK(by_epochs.sample_due(20));
}
