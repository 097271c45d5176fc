// Tests the records of a run's epochs, with an evaluation after them and without.
#include "tests/system/experiment.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Returns the mean of the steps' losses.
double loss_of_epoch(const RunFiles& run, std::int64_t epoch) {
  double sum = 0;
  std::int64_t steps = 0;
  for (const auto& step : run.events())
    if (step.at("epoch") == epoch) {
      sum += step.at("loss").get<double>();
      ++steps;
    }
  return sum / static_cast<double>(steps);
}

} // namespace

TEST_CASE("each epoch is recorded with its steps, with and without evaluation") {
  const auto strategy = GENERATE(
      Settings{"parallel.strategy=single"}, Settings{"parallel.strategy=ddp", "devices.count=2"},
      Settings{"parallel.strategy=async", "parallel.async.staleness=3", "devices.count=2",
               "data.slices=4"},
      Settings{"parallel.strategy=diloco", "parallel.diloco.steps=3", "devices.count=2"});
  CAPTURE(strategy);
  const Experiment experiment{
      strategy + Settings{"train.epochs=3", "train.evaluate_every=2", "checkpoint.every=never"}};
  const auto run = experiment.completed("epochs");
  const auto epochs = run.epochs();
  REQUIRE(epochs.size() == 3);
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    const auto& line = epochs[static_cast<std::size_t>(epoch)];
    CHECK(line.at("epoch") == epoch);
    CHECK(line.at("train_loss").get<double>() == Catch::Approx(loss_of_epoch(run, epoch)));
    // After every second epoch, and at the end.
    CHECK(line.at("test_loss").is_null() == (epoch == 0));
  }
}

TEST_CASE("an epoch that max_steps cuts short is recorded with its last step") {
  const Experiment experiment{{"train.max_steps=5", "data.batch_size=12", "data.limit=48"}};
  const auto run = experiment.completed("epochs"); // four steps per epoch
  const auto epochs = run.epochs();
  REQUIRE(epochs.size() == 2);
  CHECK(epochs[0].at("step") == 3);
  CHECK(epochs[1].at("step") == 4);
}
