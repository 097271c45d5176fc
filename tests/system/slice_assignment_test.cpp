// Tests slices that are assigned by the measured speed of workers, or as in another run.
#include "tests/system/counting.hpp"
#include "tests/system/daemons.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <csignal>
#include <fstream>

using namespace troupe;
using namespace troupe::testing;

namespace {

struct Dealt {
  int step;
  std::vector<int> counts;
};

/// Writes an events.jsonl with these slice assignments.
std::filesystem::path recorded(const Experiment& experiment, const std::vector<Dealt>& deals) {
  const auto path = experiment / "recorded.jsonl";
  std::ofstream out{path};
  for (const auto& [step, counts] : deals)
    out << nlohmann::json{{"step", step}, {"loss", 1.5}, {"dealing", counts}} << '\n';
  return path;
}

/// Returns the slice assignments, by the step at which they begin.
std::map<int, std::vector<int>> slice_assignment_of(const RunFiles& run) {
  std::map<int, std::vector<int>> found;
  for (const auto& event : run.events())
    if (event.contains("slice_assignment"))
      found[event.at("step")] = event.at("slice_assignment").get<std::vector<int>>();
  return found;
}

const std::vector<Dealt> deals = {{0, {3, 5}},  {3, {7, 1}},  {4, {1, 7}},
                                  {20, {8, 0}}, {33, {4, 4}}, {34, {5, 3}}};

} // namespace

TEST_CASE("recorded slice assignments are replayed, each slice once, with every strategy",
          "[long]") {
  const std::string strategy = GENERATE("dp", "ddp", "zero1", "zero2", "zero3", "local_sgd");
  CAPTURE(strategy);
  const Experiment experiment({"model.name=mlp", "data.batch_size=16", "data.slices=8",
                               "data.limit=160", "train.max_steps=40", "train.evaluate_every=0"});
  auto those = deals;
  if (strategy == "local_sgd") // each worker must have a slice
    those[3].counts = {7, 1};
  const Settings apart = strategy == "local_sgd"
                             ? Settings{"parallel.local_sgd.steps=1", "train.optimizer.momentum=0",
                                        "train.optimizer.momentum.nesterov=false"}
                             : Settings{};
  const auto settings = workers(strategy, 2) + apart +
                        Settings{"data.replay_assignment=" + recorded(experiment, those).string()};
  const auto even = experiment.completed("even", workers(strategy, 2) + apart);
  const auto dealt = experiment.completed("dealt", settings);
  CHECK(dealt.column<int>("samples") == std::vector<int>(40, 16));
  CHECK(largest_difference(dealt.losses(), even.losses()) < 1e-4);
  const auto found = slice_assignment_of(dealt);
  REQUIRE(found.size() == those.size());
  for (const auto& [step, counts] : those)
    CHECK(found.at(step) == counts);
  CHECK(slice_assignment_of(even).empty());
}

TEST_CASE("a run with slices assigned by speed is replayed bit for bit from its events", "[long]") {
  const std::string strategy = GENERATE("ddp", "zero3", "local_sgd");
  CAPTURE(strategy);
  const Experiment experiment({"data.batch_size=20", "data.slices=10", "train.max_steps=20",
                               "train.evaluate_every=0", "precision.mode=amp_bf16"});
  const auto settings =
      workers(strategy, 3) +
      (strategy == "local_sgd" ? Settings{"parallel.local_sgd.steps=4"} : Settings{});
  const auto first = experiment.completed("first", settings + Settings{"data.balance=speed"});
  const auto found = slice_assignment_of(first);
  CHECK(found.at(0) == std::vector{3, 3, 4}); // as even as possible, until workers are measured
  const auto events = experiment.run("first") / "events.jsonl";
  check_same(experiment.completed("again",
                                  settings + Settings{"data.replay_assignment=" + events.string()}),
             first);
}

TEST_CASE("a run whose slice assignment changes resumes with the same bits") {
  const Experiment experiment({"data.batch_size=16", "data.slices=8", "checkpoint.every=10 steps",
                               "data.limit=128", "train.schedule.name=constant",
                               "train.schedule.warmup=0"});
  const auto settings = workers("zero2", 2) +
                        Settings{"data.replay_assignment=" + recorded(experiment, deals).string()};
  const auto whole = experiment.completed("whole", settings);
  experiment.completed("half", settings + Settings{"train.max_steps=27"});
  CHECK(experiment.completed("half", settings).digest() == whole.digest());
}

TEST_CASE("each sample is applied once per epoch with assignment by speed when a node dies",
          "[long]") {
  const Counting experiment;
  const auto alone = experiment.completed("alone", experiment.own).digest();
  Daemons daemons{experiment, "nodes",
                  quick_timeouts + experiment.own +
                      Settings{"parallel.strategy=ddp", "data.balance=speed", "cluster.nodes.min=1",
                               "cluster.nodes.max=2"}};
  auto& leader = daemons.lead();
  auto& member = daemons.join();
  const auto run = experiment.run("nodes");
  becomes_true([&] { return run.steps_done() >= 200; });
  member.kill();
  REQUIRE(leader.prints("nodes: completed"));
  CHECK(stop(leader).code == 0);
  CHECK(run.digest() == alone);
  CHECK(run.column<std::int64_t>("step") == all_steps(3200));
}

TEST_CASE("a slice assignment that cannot be replayed is refused") {
  const Experiment experiment({"data.batch_size=16", "data.slices=8", "train.max_steps=4"});
  const auto refused = [&](const Settings& settings, const std::string& reason) {
    CAPTURE(settings);
    const auto ended = experiment.train("refused", workers("ddp", 2) + settings);
    CHECK(ended.code == 2);
    CHECK(has(ended.err, reason));
  };
  const auto wrong = recorded(experiment, {{0, {3, 5}}, {3, {7, 2}}}).string();
  refused({"data.replay_assignment=" + wrong},
          wrong + ":2: the recorded assignment does not match the 8 slices");
  refused({"data.replay_assignment=/nowhere/events.jsonl"}, "no such file");
  refused({"parallel.strategy=local_sgd",
           "data.replay_assignment=" + recorded(experiment, {{3, {8, 0}}}).string()},
          "with at least one per worker");
  recorded(experiment, {{0, {3, 5}}, {3, {7, 2}}});
  refused({"data.balance=speed", "data.replay_assignment=" + wrong}, "set only one of the two");
  refused({"data.balance=speed", "data.slices=2"},
          "with 2 slices for 2 workers there is nothing to balance");
  refused({"data.balance=speed", "model.sync_batch_norm=true"}, "requires equal numbers of slices");
  refused({"data.balance=fast"}, "even, speed");
}
