// Tests daemons under a service manager: jobs that the rules of our unit restore after a crash.
#include "tests/system/daemons.hpp"
#include "tests/system/services.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <csignal>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

TEST_CASE("a job whose daemons a service manager restarts recovers by itself and completes",
          "[long]") {
  const std::size_t victim = GENERATE(0U, 2U); // the leader, or a follower
  CAPTURE(victim);
  const Experiment experiment;
  const RestartRules rules;
  const auto settings = for_nodes(3, "ddp") + Settings{"train.epochs=40"};
  const auto leader = free_address();
  std::vector<Service> services;
  for (std::size_t i = 0; i < 3; ++i) {
    auto own = settings + Settings{"cluster.listen=" + (i == 0 ? leader : free_address()),
                                   "run.output=" + (experiment / std::to_string(i)).string()};
    if (i > 0)
      own.push_back("--join=" + leader);
    services.emplace_back(rules, experiment.command("node", "job", own));
  }
  const RunFiles run{experiment / "0" / "job"};
  REQUIRE(becomes_true([&] { return run.steps_done() > 20 && run.has_checkpoint(); }));
  services[victim].kill();

  const auto completed = [&] {
    for (auto& service : services)
      service.tend();
    return services[0].prints("job: completed");
  };
  REQUIRE(becomes_true(completed));
  const auto folder = [&](int node) { return RunFiles{experiment / std::to_string(node) / "job"}; };
  const auto last = victim > 0 ? run : folder(folder(1).has("summary.json") ? 1 : 2);
  CHECK(last.summary().at("first_step").get<int>() > 0);
  CHECK(last.summary().at("steps") == 320);
  if (victim > 0) // the line of a leader's last step may be lost with it
    CHECK(last.column<std::int64_t>("step") == all_steps(320));
  // Nodes that were told to join end with the job, and stay away; the other node stays until it is
  // stopped.
  CHECK(becomes_true([&] { return !services[1].tend() && !services[2].tend(); }));
  CHECK(services[0].tend());
  services[0].stop();
  CHECK(becomes_true([&] { return !services[0].tend(); }));
  for (std::size_t i = 0; i < services.size(); ++i) {
    CAPTURE(i, services[i].said());
    if (i == victim)
      CHECK(services[i].codes().front() == 128 + SIGKILL);
    else
      CHECK(services[i].codes().size() == 1);
    CHECK(services[i].codes().back() == 0);
    CHECK(std::ranges::count(services[i].codes(), 2) == 0);
  }
}

TEST_CASE("a node that comes after the end of a job exits without work") {
  const Experiment experiment;
  Daemons daemons{experiment, "nodes", for_nodes(2, "ddp")};
  auto& leader = daemons.lead();
  CHECK(daemons.join().wait().code == 0);
  REQUIRE(leader.prints("nodes: completed"));
  const auto late = daemons.join().wait();
  CHECK(late.code == 0);
  CHECK(has(late.out, "the job has ended already: completed"));
  CHECK(stop(leader).code == 0);
}
