// Tests that a run's result depends on the slices of its global batch, not on how many workers
// share them, nor on how evenly.
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace troupe;
using namespace troupe::testing;

namespace {

Settings shared(const std::string& strategy, int workers) {
  auto settings = testing::workers(strategy, workers);
  if (strategy == "hsdp" && workers % 2 != 0)
    settings.push_back("parallel.shard_group=" + std::to_string(workers));
  return settings;
}

} // namespace

TEST_CASE("a slice's result is the same on every worker", "[long]") {
  const std::string strategy = GENERATE("dp", "ddp", "zero1", "zero2", "zero3", "hsdp");
  const std::string no_sync = GENERATE("true", "false");
  CAPTURE(strategy, no_sync);
  const Experiment experiment({"model.name=mlp", "data.batch_size=20", "data.slices=5",
                               "train.max_steps=6", "train.evaluate_every=0",
                               "parallel.no_sync=" + no_sync});
  const auto alone = experiment.completed("alone");
  for (const int workers : {2, 3, 4, 5}) {
    CAPTURE(workers);
    const auto together =
        experiment.completed("of " + std::to_string(workers), shared(strategy, workers));
    CHECK(together.column<int>("samples") == std::vector<int>(6, 20));
    // The same numbers in another order: first over a worker's slices, then over workers.
    CHECK(largest_difference(together.losses(), alone.losses()) < 1e-5);
  }
}

TEST_CASE("running statistics are those of the first slice, whichever workers compute the others") {
  const std::string strategy = GENERATE("ddp", "zero2", "zero3");
  CAPTURE(strategy);
  const Experiment experiment({"data.batch_size=20", "data.slices=5", "train.max_steps=6"});
  const auto alone = experiment.completed("alone");
  // Each worker has one slice: ranks are added in the order of slices, so that all bits are equal.
  check_same(experiment.completed("together", shared(strategy, 5)), alone);
}

TEST_CASE("workers with unequal numbers of slices are reproducible bit for bit") {
  const std::string strategy = GENERATE("ddp", "zero3");
  CAPTURE(strategy);
  const Experiment experiment({"data.batch_size=16", "data.slices=4", "train.max_steps=6",
                               "train.evaluate_every=0", "precision.mode=amp_fp16",
                               "train.clip_grad=0.5"});
  check_same(experiment.completed("again", shared(strategy, 3)),
             experiment.completed("first", shared(strategy, 3)));
}

TEST_CASE("invalid numbers of slices are refused with the allowed ones") {
  const Experiment experiment;
  const auto refused = [&](const Settings& settings) {
    const auto ended = experiment.start("refused", settings).wait();
    CHECK(ended.code == 2);
    return ended.err;
  };
  CHECK(has(refused({"data.slices=3", "devices.count=4"}), "3 slices are too few for 4 workers"));
  CHECK(has(refused({"data.batch_size=8", "data.slices=9"}), "8 samples are too few for 9 slices"));
  CHECK(has(refused({"data.slices=4", "train.accumulate=2"}),
            "4 slices are not 1 workers x 2 micro-batches"));
  CHECK(has(refused({"data.slices=5", "devices.count=2", "model.sync_batch_norm=true"}),
            "5 slices cannot be assigned in equal numbers to 2 workers"));
  CHECK(has(refused({"data.slices=0"}), "data.slices"));
}
