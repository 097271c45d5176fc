// Tests that a job continues when its leader is lost.
#include "tests/system/counting.hpp"
#include "tests/system/crew.hpp"
#include "tests/system/daemons.hpp"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

using namespace troupe;
using namespace troupe::testing;

namespace {

Settings for_crew(int nodes) {
  return quick_timeouts + Settings{"parallel.strategy=ddp",
                                   "data.batch_size=12",
                                   "data.slices=12",
                                   "data.limit=96",
                                   "data.eval_batch_size=12",
                                   "cluster.nodes.min=2",
                                   "cluster.nodes.max=" + std::to_string(nodes)};
}

/// Checks that no line occurs twice, and that only lines of steps that a lost leader had no time to
/// write are missing. `losses`: how often the leader was lost.
void check_lines(const RunFiles& run, std::int64_t steps, std::int64_t losses) {
  constexpr std::int64_t under_way = 4; // steps, at most
  const auto lines = run.column<std::int64_t>("step");
  CHECK(std::ranges::adjacent_find(lines, std::ranges::greater_equal{}) == lines.end());
  REQUIRE_FALSE(lines.empty());
  CHECK(lines.back() == steps - 1);
  CHECK(std::ssize(lines) >= steps - losses * under_way);
}

bool has_staging(const RunFiles& run) {
  return std::ranges::any_of(
      std::filesystem::directory_iterator{run.folder()},
      [](const auto& entry) { return entry.path().filename().string().starts_with(".drafts-"); });
}

/// Returns the number of voters on the next generation, as a restarted node would read it.
std::size_t voters(const RunFiles& run) {
  std::ifstream file{run.folder() / "members.json"};
  const auto members = nlohmann::json::parse(file, nullptr, false);
  return members.is_object() ? members.at("voters").size() : 0;
}

} // namespace

TEST_CASE("when the leader is killed, another continues the run with its logs and checkpoints",
          "[long]") {
  const bool shared = GENERATE(true, false);
  CAPTURE(shared);
  const Experiment experiment;
  Crew crew{experiment, "nodes", 3, for_crew(3) + Settings{"train.epochs=25"}, shared};
  crew.start_all();
  REQUIRE(becomes_true([&] { return crew.members(0) == 3 && crew.run(0).steps_done() > 40; }));
  const auto before = crew.run(0).losses();
  crew[0].kill();
  REQUIRE(becomes_true([&] { return crew.leader(1) > 0; }));
  const int successor = crew.leader(1);
  CHECK(crew[successor].prints("this node now leads the job, as the successor of " +
                               crew.address(0)));
  crew.start(0);
  REQUIRE(becomes_true([&] { return crew.members(0) == 3; }));
  CHECK(crew.leader(0) == successor);
  if (!shared)
    CHECK(becomes_true([&] { return !has_staging(crew.run(0)); }));

  const auto run = crew.run(successor);
  REQUIRE(crew[successor].prints("nodes: completed"));
  for (const int node : {successor, 3 - successor, 0})
    CHECK(crew.end(node).code == 0);
  check_lines(run, 25 * 8, 1);
  const auto losses = run.losses();
  CHECK(std::vector(losses.begin(), losses.begin() + 40) ==
        std::vector(before.begin(), before.begin() + 40));
  const auto changes = run.recoveries();
  REQUIRE(changes.size() >= 2);
  const auto lost = std::ranges::find(
      changes, true, [](const auto& change) { return change.at("is_loss").template get<bool>(); });
  REQUIRE(lost != changes.end());
  CHECK(lost->at("reason") ==
        "node " + crew.address(0) + ", which led the job, was lost: its connection was closed");
  CHECK(lost->at("steps_repeated") == 0);
  CHECK(run.newest_checkpoint().step == 25 * 8);
  CHECK_FALSE(run.has("members.json"));
}

TEST_CASE("no log lines are lost when the leader and another node die, and others are ahead",
          "[exhaustive]") {
  const Experiment experiment;
  const Settings settings = {"train.epochs=100", "checkpoint.every=20 steps"};
  Crew crew{experiment, "nodes", 4, for_crew(4) + settings, false};
  crew.start_all();
  REQUIRE(becomes_true([&] { return crew.members(0) == 4 && crew.run(0).steps_done() > 70; }));
  for (const int node : {0, 1})
    crew[node].kill();
  for (const int node : {0, 1})
    crew.start(node);
  REQUIRE(becomes_true([&] { return crew.members(0) == 4; }));
  // A survivor leads if it was elected before the second loss, otherwise the node that begins the
  // job again.
  const int leader = crew.leader(0);
  REQUIRE(leader >= 0);
  REQUIRE(crew[leader].prints("nodes: completed"));
  for (int node = 0; node < crew.size(); ++node)
    CHECK(crew.end(node).code == 0);
  check_lines(crew.run(leader), 100 * 8, 2);
}

TEST_CASE(
    "a spare follows the next leader when the leader leaves, even the first of cluster.join") {
  const Experiment experiment;
  Crew crew{experiment, "nodes", 3, for_crew(2) + Settings{"train.epochs=100000"}, true};
  crew.start_all();
  const auto run = crew.run(0);
  REQUIRE(becomes_true([&] { return crew.members(0) == 2 && run.steps_done() > 20; }));
  int spare = 1; // the slower of the two joining nodes is the spare
  REQUIRE(becomes_true([&] {
    spare = has(crew[1].out(), "waiting as a spare") ? 1 : 2;
    return has(crew[spare].out(), "waiting as a spare");
  }));
  crew[0].send(SIGTERM);
  CHECK(crew[0].wait().code == 0);
  REQUIRE(becomes_true([&] { return crew.members(spare) == 2; }));
  CHECK(crew.leader(spare) == 3 - spare);
  const auto then = run.steps_done();
  CHECK(becomes_true([&] { return run.steps_done() > then + 20; }));
  CHECK(stop(crew[spare]).code == 0);
  CHECK(crew[3 - spare].wait().code == 0);
}

TEST_CASE("stopping any node ends every node, even one that may begin a job") {
  const Experiment experiment;
  Crew crew{experiment, "nodes", 3, for_crew(3) + Settings{"train.epochs=100000"}, false};
  crew.start_all();
  REQUIRE(becomes_true([&] { return crew.members(0) == 3 && crew.run(0).steps_done() > 20; }));
  crew[0].kill();
  REQUIRE(becomes_true([&] { return crew.leader(1) > 0; }));
  crew.start(0);
  REQUIRE(becomes_true([&] { return crew.members(0) == 3; }));
  const auto asked = RunningProgram{{TROUPE_PROGRAM, "stop", crew.address(1), "--wait"}}.wait();
  CHECK(asked.code == 0);
  for (int node = 0; node < crew.size(); ++node)
    CHECK(crew[node].wait().code == 0);
}

TEST_CASE("a leader asked to leave does so between two steps, and the others continue", "[long]") {
  const auto& [by_signal, divides] = GENERATE(table<bool, bool>({{true, true}, {false, false}}));
  CAPTURE(by_signal, divides);
  const Counting experiment;
  const auto alone = experiment.completed("alone", experiment.own).digest();
  const std::size_t nodes = divides ? 3 : 2;
  Crew crew{experiment, "nodes", static_cast<int>(nodes),
            quick_timeouts + experiment.own +
                Settings{divides ? "parallel.strategy=zero1" : "parallel.strategy=ddp",
                         "cluster.nodes.min=1", "cluster.nodes.max=" + std::to_string(nodes)},
            true};
  crew.start_all();
  const auto run = crew.run(0);
  REQUIRE(becomes_true([&] { return crew.members(0) == nodes && run.steps_done() > 40; }));
  if (by_signal)
    crew[0].send(SIGTERM);
  else
    CHECK(RunningProgram{{TROUPE_PROGRAM, "stop", crew.address(0), "--node"}}.wait().code == 0);
  const auto left = crew[0].wait();
  CHECK(left.code == 0);
  CHECK(has(left.out, "this node has left the job, and another node leads it"));
  crew.start(0); // as a follower
  REQUIRE(becomes_true([&] { return run.has("summary.json"); }));
  CHECK(run.summary().at("status") == "completed");
  CHECK(run.digest() == alone);
  CHECK(run.column<std::int64_t>("step") == all_steps(20 * Counting::samples / 6));
  const auto changes = run.recoveries();
  const auto change = std::ranges::find(
      changes, "node " + crew.address(0) + ", which led the job, has left it",
      [](const auto& line) { return line.at("reason").template get<std::string>(); });
  REQUIRE(change != changes.end());
  CHECK(change->at("is_loss") == false);
  CHECK(change->at("steps_repeated") == 0);
}

TEST_CASE("each sample is applied once per epoch when any node is lost, including the leader",
          "[long]") {
  const Counting experiment;
  // More steps, because a joining node takes part only once it is stable.
  const auto settings =
      experiment.own + Settings{"data.batch_size=3", "data.slices=3", "data.eval_batch_size=3",
                                "train.optimizer.lr=0.75"};
  const auto alone = experiment.completed("alone", settings).digest();
  Crew crew{experiment, "nodes", 3,
            quick_timeouts + settings +
                Settings{"parallel.strategy=ddp", "cluster.nodes.min=2", "cluster.nodes.max=3",
                         soon_stable},
            true};
  crew.start_all();
  REQUIRE(becomes_true([&] { return crew.members(0) == 3; }));
  const auto run = crew.run(0);
  std::mt19937_64 random{Catch::getSeed()};
  const auto below = [&](std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>{0, end - 1}(random);
  };
  int losses = 0;
  for (; losses < 8 && !run.has("summary.json"); ++losses) {
    const auto next = run.steps_done() + below(200);
    becomes_true([&] { return run.steps_done() >= next || run.has("summary.json"); });
    const auto leader = crew.leader(0) >= 0 ? crew.leader(0) : 1;
    const int victim = below(2) == 0 ? leader : static_cast<int>(below(3));
    crew[victim].kill();
    std::this_thread::sleep_for(std::chrono::milliseconds{below(100)});
    crew.start(victim);
    becomes_true([&] { return crew.members(victim) == 3 || run.has("summary.json"); });
  }
  CHECK(losses > 2);
  REQUIRE(becomes_true([&] { return run.has("summary.json"); }));
  CHECK(run.summary().at("status") == "completed");
  check_lines(run, 20 * Counting::samples / 3, losses);
  CHECK(run.digest() == alone);
}

TEST_CASE("a leader that was paused finds that another node leads and follows it", "[long]") {
  const Experiment experiment;
  Crew crew{experiment, "nodes", 3, for_crew(3) + Settings{"train.epochs=100000"}, true};
  crew.start_all();
  const auto run = crew.run(0);
  REQUIRE(becomes_true([&] { return crew.members(0) == 3 && run.steps_done() > 40; }));
  crew[0].send(SIGSTOP);
  REQUIRE(becomes_true([&] { return crew.leader(1) > 0; }));
  const int successor = crew.leader(1);
  const auto then = run.steps_done();
  REQUIRE(becomes_true([&] { return run.steps_done() > then + 40; }));
  crew[0].send(SIGCONT);
  REQUIRE(crew[0].prints("the other nodes have joined the new leader " + crew.address(successor)));
  REQUIRE(becomes_true([&] { return crew.members(0) == 3; }));
  CHECK(crew.leader(0) == successor);
  const auto now = run.steps_done();
  REQUIRE(becomes_true([&] { return run.steps_done() > now + 40; }));
  CHECK(stop(crew[successor]).code == 0);
  check_lines(run, run.events().back().at("step").get<std::int64_t>() + 1, 1);
}

TEST_CASE("when the leader is frozen and all others restart, they begin the job again without it",
          "[long]") {
  const Experiment experiment;
  const Settings settings = {"cluster.timeouts.collective=5s", "cluster.timeouts.rejoin=8s",
                             "cluster.timeouts.quorum=12s", "train.epochs=100000",
                             "cluster.nodes.min=1"};
  Crew crew{experiment, "nodes", 3, for_crew(3) + settings, true};
  crew.start_all();
  const auto run = crew.run(0);
  REQUIRE(becomes_true([&] { return crew.members(0) == 3 && run.steps_done() > 40; }));
  crew[0].kill(); // only the first of cluster.join begins a job: it must not be the frozen one
  REQUIRE(becomes_true([&] { return crew.leader(1) > 0; }));
  const int frozen = crew.leader(1);
  const int other = 3 - frozen;
  crew.start(0);
  REQUIRE(becomes_true([&] { return crew.members(0) == 3; }));
  crew[frozen].send(SIGSTOP);
  for (const int node : {0, other})
    crew[node].kill();
  for (const int node : {0, other})
    crew.start(node);
  REQUIRE(becomes_true([&] { return crew.members(0) == 2; }));
  const auto then = run.steps_done();
  CHECK(becomes_true([&] { return run.steps_done() > then + 20; }));
  crew[frozen].send(SIGCONT);
  CHECK(crew[frozen].wait().code == 1); // a service manager restarts it
  crew.start(frozen);
  REQUIRE(becomes_true([&] { return crew.members(frozen) == 3; }));
  CHECK(crew.leader(frozen) == 0);
  CHECK(stop(crew[other]).code == 0);
  check_lines(run, run.events().back().at("step").get<std::int64_t>() + 1, 3);
}

TEST_CASE("a leader that was frozen while another led continues if all others restart", "[long]") {
  const Experiment experiment;
  Crew crew{experiment, "nodes", 3, for_crew(3) + Settings{"train.epochs=100000"}, true};
  crew.start_all();
  const auto run = crew.run(0);
  REQUIRE(becomes_true([&] { return crew.members(0) == 3 && run.steps_done() > 40; }));
  crew[0].send(SIGSTOP);
  REQUIRE(becomes_true([&] { return crew.leader(1) > 0; }));
  const auto then = run.steps_done(); // the successor has taken over the folder
  REQUIRE(becomes_true([&] { return run.steps_done() > then + 20; }));
  for (const int node : {1, 2})
    crew[node].kill();
  for (const int node : {1, 2})
    crew.start(node);
  crew[0].send(SIGCONT);
  REQUIRE(becomes_true([&] { return crew.members(0) == 3; }));
  CHECK(becomes_true([&] { return crew.leader(1) == 0; }));
  const auto now = run.steps_done();
  REQUIRE(becomes_true([&] { return run.steps_done() > now + 40; }));
  CHECK(stop(crew[1]).code == 0);
  CHECK(crew[0].wait().code == 0);
  check_lines(run, run.events().back().at("step").get<std::int64_t>() + 1, 2);
}

TEST_CASE("with a witness, the follower of two nodes continues without the leader") {
  const Experiment experiment;
  Crew crew{experiment, "nodes", 3,
            for_crew(2) + Settings{"cluster.nodes.min=1", "train.epochs=100000"}, false};
  crew.start(0);
  crew.start(1);
  crew.start(2, {"--witness"});
  REQUIRE(becomes_true([&] { return crew.members(0) == 2 && crew.run(0).steps_done() > 40; }));
  REQUIRE(becomes_true([&] {
    return crew.status(2).at("phase") == "a witness of the job that " + crew.address(0) + " leads";
  }));
  crew[0].kill();
  REQUIRE(crew[1].prints("this node now leads the job"));
  const auto then = crew.run(1).steps_done();
  REQUIRE(becomes_true([&] { return crew.run(1).steps_done() > then + 40; }));
  CHECK(becomes_true([&] {
    return crew.status(2).at("phase") == "a witness of the job that " + crew.address(1) + " leads";
  }));
  const auto refused = RunningProgram{{TROUPE_PROGRAM, "stop", crew.address(1), "--node"}}.wait();
  CHECK(refused.code == 2);
  CHECK(has(refused.err, crew.address(1) + " leads the job, and the job would end if it left"));
  CHECK(crew[1].running());
  CHECK(stop(crew[1]).code == 0);
  CHECK(crew[2].wait().code == 0);
  CHECK_FALSE(crew.run(2).has("events.jsonl"));
}

TEST_CASE("with a spare, the follower of two nodes continues without the leader, repeatedly") {
  const Experiment experiment;
  Crew crew{experiment, "nodes", 3, for_crew(3) + Settings{"data.slices=2", "train.epochs=100000"},
            false};
  crew.start(0);
  crew.start(1);
  REQUIRE(becomes_true([&] { return crew.members(0) == 2; }));
  crew.start(2);
  REQUIRE(crew[2].prints(
      "waiting as a spare: there are 2 workers already, and 1 more would exceed the 2 slices"));
  // The spare has a vote, and no generation was built for that.
  REQUIRE(becomes_true([&] { return voters(crew.run(1)) == 3; }));
  CHECK(crew.run(0).recoveries().empty());
  crew[0].kill();
  REQUIRE(crew[1].prints("this node now leads the job, as the successor of " + crew.address(0)));
  REQUIRE(becomes_true([&] { return crew.members(2) == 2 && crew.leader(2) == 1; }));
  crew.start(0);
  REQUIRE(crew[0].prints(
      "waiting as a spare: there are 2 workers already, and 1 more would exceed the 2 slices"));
  REQUIRE(becomes_true([&] { return voters(crew.run(2)) == 3; }));
  crew[1].kill();
  REQUIRE(crew[2].prints("this node now leads the job, as the successor of " + crew.address(1)));
  REQUIRE(becomes_true([&] { return crew.members(0) == 2 && crew.leader(0) == 2; }));
  CHECK(RunningProgram{{TROUPE_PROGRAM, "stop", crew.address(0)}}.wait().code == 0);
  CHECK(crew[0].wait().code == 0);
  CHECK(crew[2].wait().code == 0);
}

TEST_CASE("a former leader waiting as a spare follows the next leader, without staging files") {
  const Experiment experiment;
  Crew crew{experiment, "nodes", 3, for_crew(3) + Settings{"data.slices=2", "train.epochs=100000"},
            false};
  crew.start(0);
  crew.start(1);
  REQUIRE(becomes_true([&] { return crew.members(0) == 2; }));
  crew.start(2);
  REQUIRE(becomes_true([&] { return voters(crew.run(1)) == 3; }));
  crew[0].send(SIGSTOP);
  REQUIRE(becomes_true([&] { return crew.members(1) == 2 && crew.leader(1) == 1; }));
  crew[0].send(SIGCONT);
  REQUIRE(crew[0].prints(
      "waiting as a spare: there are 2 workers already, and 1 more would exceed the 2 slices"));
  crew[1].send(SIGTERM);
  CHECK(crew[1].wait().code == 0);
  REQUIRE(becomes_true([&] { return crew.members(0) == 2; }));
  CHECK(crew.leader(0) == 2);
  CHECK(stop(crew[2]).code == 0);
  CHECK(crew[0].wait().code == 0);
  CHECK_FALSE(has_staging(crew.run(0)));
}

TEST_CASE("a witness without a node to join is refused") {
  const Experiment experiment;
  const auto ended = RunningProgram{experiment.command("node", "nodes", {"--witness"})}.wait();
  CHECK(ended.code == 2);
  CHECK(has(ended.err, "--witness needs the address of a node of the job"));
}
