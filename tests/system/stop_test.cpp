#include "tests/support/http_client.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <csignal>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

/// Waits until the run has done `steps` steps. Returns false when it ends before.
bool reaches(RunningProgram& program, const RunFiles& run, std::int64_t steps) {
  return becomes_true([&] { return run.steps_done() >= steps || !program.running(); }) &&
         run.steps_done() >= steps;
}

/// Returns the command for resuming that a stopped run prints.
std::string command_to_go_on(const std::string& said) {
  const std::string before = "troupe: to resume: ";
  const auto begin = said.find(before);
  REQUIRE(begin != std::string::npos);
  return said.substr(begin + before.size(), said.find('\n', begin) - begin - before.size());
}

/// Runs longer than any test waits.
const Settings endless = {"train.epochs=100000", "checkpoint.every=1000 steps"};

/// Steps take some tenths of a second, and more than one is in flight.
const Settings slow = {"devices.engine=interpreter", "data.image_size=16", "data.batch_size=32",
                       "data.limit=320"};

const Settings two_workers = {"parallel.strategy=ddp", "devices.count=2"};

void check_stop_and_resume(int signal, const Settings& parallel) {
  CAPTURE(signal, parallel);
  auto settings = parallel;
  // The only checkpoint is the one written at the stop.
  settings.insert(settings.end(), {"train.epochs=30", "checkpoint.every=30 epochs"});
  const Experiment experiment(settings);
  const auto undisturbed = experiment.completed("undisturbed");

  auto program = experiment.start("stopped");
  const auto run = experiment.run("stopped");
  REQUIRE(reaches(program, run, 5));
  program.send(signal);
  const auto ended = program.wait();
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 128 + signal);
  CHECK(has(ended.err, "after 1 s, a second signal ends the process at once"));
  CHECK(has(ended.out, "stopped: stopped after"));
  const auto summary = run.summary();
  const auto steps = summary.at("steps").get<std::int64_t>();
  CHECK(summary.at("status") == "stopped");
  CHECK(steps < 240);
  CHECK(run.column<std::int64_t>("step") == all_steps(steps));
  CHECK(run.newest_checkpoint().step == steps);
  CHECK(run.has("report.html"));
  CHECK(summary.at("checkpoint") == run.checkpoints().back().string());
  CHECK(has(ended.err, "troupe: stopped; checkpoint: " + run.checkpoints().back().string() + "\n"));

  CHECK(RunningProgram{{"/bin/sh", "-c", "exec " + command_to_go_on(ended.err)}}.wait().code == 0);
  CHECK(run.summary().at("status") == "completed");
  CHECK(run.digest() == undisturbed.digest());
  CHECK(run.losses() == undisturbed.losses());
}

} // namespace

TEST_CASE("a stopped run saves its last step and resumes from it") {
  check_stop_and_resume(SIGINT, {});
  check_stop_and_resume(SIGTERM, two_workers);
}

TEST_CASE("a run stopped by the other signal saves its last step and resumes from it",
          "[exhaustive]") {
  check_stop_and_resume(SIGTERM, {});
  check_stop_and_resume(SIGINT, two_workers);
}

TEST_CASE("a stopped run with checkpoint.resume=never prints the command that resumes it") {
  const Experiment experiment(endless + Settings{"checkpoint.resume=never"});
  auto program = experiment.start("fresh");
  REQUIRE(reaches(program, experiment.run("fresh"), 3));
  program.send(SIGINT);
  const auto ended = program.wait();
  CHECK(ended.code == 128 + SIGINT);
  CHECK(command_to_go_on(ended.err).ends_with(" --set checkpoint.resume=auto"));
}

TEST_CASE("a stopped run without checkpoints reports that it saved none") {
  const Experiment experiment({"train.epochs=100000", "checkpoint.every=never"});
  auto program = experiment.start("unsaved");
  REQUIRE(reaches(program, experiment.run("unsaved"), 3));
  program.send(SIGTERM);
  const auto ended = program.wait();
  CHECK(ended.code == 128 + SIGTERM);
  CHECK(has(ended.err, "troupe: stopped; no checkpoint was written (see checkpoint.every)\n"));
  CHECK_FALSE(has(ended.err, "to resume"));
}

TEST_CASE("a run saves and ends with 128 + signal on SIGHUP, SIGUSR1 and SIGUSR2") {
  const int signal = GENERATE(SIGHUP, SIGUSR1, SIGUSR2);
  const Experiment experiment(endless);
  auto program = experiment.start("stopped");
  const auto run = experiment.run("stopped");
  REQUIRE(reaches(program, run, 3));
  program.send(signal);
  const auto ended = program.wait();
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 128 + signal);
  CHECK(run.newest_checkpoint().step == run.summary().at("steps"));
  CHECK(has(ended.err, "troupe: to resume: "));
}

TEST_CASE("two simultaneous signals stop a run like one") {
  const Experiment experiment(endless);
  auto program = experiment.start("stopped");
  const auto run = experiment.run("stopped");
  REQUIRE(reaches(program, run, 3));
  program.send(SIGTERM);
  program.send(SIGTERM);
  const auto ended = program.wait();
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 128 + SIGTERM);
  CHECK(run.newest_checkpoint().step == run.summary().at("steps"));
}

TEST_CASE("a second signal ends the program at once, during any work", "[long]") {
  // The second step has just begun, and takes far longer than the second in which signals count as
  // one.
  const Experiment experiment(slow + Settings{"data.batch_size=512", "data.limit=2048"});
  auto program = experiment.start("slow");
  REQUIRE(reaches(program, experiment.run("slow"), 1));
  program.send(SIGTERM);
  REQUIRE(becomes_true([&] { return has(program.err(), "troupe: stopping"); }));
  std::this_thread::sleep_for(1100ms);
  program.send(SIGINT);
  const auto ended = program.wait();
  CHECK(ended.code == 1);
  CHECK(has(ended.err, "second signal"));
}

TEST_CASE("a drain that takes longer than its timeout ends the program") {
  const Experiment experiment(slow);
  auto program = experiment.start("slow", {"cluster.timeouts={detection: 20ms, collective: "
                                           "50ms, drain: 50ms}"});
  REQUIRE(reaches(program, experiment.run("slow"), 1));
  program.send(SIGTERM);
  const auto ended = program.wait();
  CHECK(ended.code == 1);
  CHECK(has(ended.err, "cluster.timeouts.drain"));
}

TEST_CASE("a daemon prints that it is ready, and drains when it is stopped") {
  const Experiment experiment(endless);
  auto node = experiment.start_node("node");
  REQUIRE(node.prints("ready\n"));
  const auto run = experiment.run("node");
  REQUIRE(reaches(node, run, 3));
  node.send(SIGTERM);
  const auto ended = node.wait();
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 0);
  CHECK(run.summary().at("status") == "stopped");
  CHECK(run.newest_checkpoint().step == run.summary().at("steps"));
}

TEST_CASE("a daemon drains on SIGHUP, SIGUSR1 and SIGUSR2") {
  const int signal = GENERATE(SIGHUP, SIGUSR1, SIGUSR2);
  const Experiment experiment(endless);
  auto node = experiment.start_node("node");
  const auto run = experiment.run("node");
  REQUIRE(reaches(node, run, 3));
  node.send(signal);
  CHECK(node.wait().code == 0);
  CHECK(run.newest_checkpoint().step == run.summary().at("steps"));
}

TEST_CASE("a daemon stays after its job until it is stopped") {
  const Experiment experiment({"metrics.listen=127.0.0.1:0"});
  auto node = experiment.start_node("node");
  REQUIRE(node.prints("node: completed"));
  const auto port = metrics_port(node);
  CHECK_FALSE(becomes_true([&] { return !node.running(); }, 300ms));
  CHECK(http(port, "/healthz").status == 200);
  CHECK(http(port, "/readyz").status == 503);
  node.send(SIGTERM);
  const auto ended = node.wait();
  CHECK(ended.code == 0);
  CHECK(experiment.run("node").summary().at("status") == "completed");
}

TEST_CASE("a daemon whose job failed ends with a failure's exit code") {
  const Experiment experiment({"train.optimizer.lr=1e30"});
  auto node = experiment.start_node("node");
  const auto ended = node.wait();
  CHECK(ended.code == 1);
  CHECK(has(ended.err, "node: failed"));
}
