// Tests that each sample is applied once per epoch, whichever node is lost.
#include "tests/system/counting.hpp"
#include "tests/system/daemons.hpp"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <csignal>
#include <random>
#include <thread>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Trains on three nodes while followers are repeatedly killed, or asked to leave, and restarted.
/// Checks that the weights equal those of a run in one process.
void check_counts(const std::string& strategy, const Settings& more, int most_losses) {
  CAPTURE(strategy);
  const Counting experiment;
  const auto alone = experiment.completed("alone", experiment.own).digest();

  Daemons daemons{experiment, "nodes",
                  quick_timeouts + experiment.own +
                      Settings{"parallel.strategy=" + strategy, "cluster.nodes.min=1",
                               "cluster.nodes.max=3", soon_stable} +
                      more};
  auto& leader = daemons.lead();
  std::array others = {&daemons.join(), &daemons.join()};
  const auto run = experiment.run("nodes");
  std::mt19937_64 random{Catch::getSeed()};
  const auto below = [&](std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>{0, end - 1}(random);
  };
  int losses = 0;
  for (; losses < most_losses && leader.running() && !run.has("summary.json"); ++losses) {
    const auto next = run.steps_done() + below(4000 / most_losses / 2);
    becomes_true([&] { return run.steps_done() >= next || run.has("summary.json"); });
    auto& victim = others[static_cast<std::size_t>(below(2))];
    if (below(4) == 0)
      victim->send(SIGTERM);
    else
      victim->kill();
    std::this_thread::sleep_for(std::chrono::milliseconds{below(100)});
    victim = &daemons.join();
  }
  CHECK(losses > 2); // with fast steps, the job ends before all losses have happened
  REQUIRE(leader.prints("nodes: completed"));
  CHECK(stop(leader).code == 0);
  CHECK(run.column<std::int64_t>("step") == all_steps(20 * Counting::samples / 6));
  CHECK(run.digest() == alone);
}

} // namespace

TEST_CASE("each sample is applied once per epoch when any node is lost", "[exhaustive]") {
  check_counts(GENERATE("ddp", "zero3"), {}, 10);
}

TEST_CASE("each sample is applied once per epoch after twenty losses, with every strategy",
          "[exhaustive]") {
  const auto strategy = GENERATE(as<std::string>{}, "ddp", "zero1", "zero2", "zero3", "hsdp");
  check_counts(
      strategy,
      strategy == "hsdp" ? Settings{"devices.count=2", "parallel.shard_group=2"} : Settings{}, 20);
}
