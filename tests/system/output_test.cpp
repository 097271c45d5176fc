#include "tests/support/shell_line.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <map>
#include <sstream>

using namespace troupe;
using namespace troupe::testing;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

} // namespace

TEST_CASE("with --log-format json every line of stdout is an object") {
  const Experiment experiment({"metrics.listen=127.0.0.1:0"});
  const auto ended = experiment.train("small", {"--log-format=json"});
  CHECK(ended.code == 0);
  CHECK(ended.err.empty());
  std::map<std::string, int> events;
  for (const auto& line : lines_of(ended.out)) {
    const auto object = nlohmann::json::parse(line, nullptr, false);
    CAPTURE(line);
    REQUIRE(object.is_object());
    CHECK(object.contains("time"));
    CHECK(object.contains("level"));
    ++events[object.at("event")];
    if (object.at("event") == "step")
      for (const char* key : {"step", "total_steps", "epoch", "epochs", "loss", "accuracy",
                              "samples_per_second", "seconds_left"})
        CHECK(object.at(key).is_number());
  }
  CHECK(events["run"] == 1);
  CHECK(events["step"] >= 1);
  CHECK(events["epoch"] == 5);
  CHECK(events["end"] == 1);
  CHECK(events["log"] >= 1); // the address of its metrics
}

TEST_CASE("with --log-format json a failure is an object too") {
  const Experiment experiment({"train.optimizer.lr=1e30"});
  const auto ended = experiment.train("small", {"--log-format=json"});
  CHECK(ended.code == 1);
  const auto lines = lines_of(ended.out);
  REQUIRE_FALSE(lines.empty());
  for (const auto& line : lines)
    CHECK(nlohmann::json::parse(line, nullptr, false).is_object());
  CHECK(nlohmann::json::parse(lines.back()).at("status") == "failed");
}

TEST_CASE("with --quiet only the end is printed") {
  const Experiment experiment({"metrics.listen=127.0.0.1:0"});
  const auto ended = experiment.train("small", {"--quiet"});
  CHECK(ended.code == 0);
  CHECK(ended.err.empty());
  const auto lines = lines_of(ended.out);
  CAPTURE(ended.out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].starts_with("small: completed after 40 steps (5 epochs)"));
  CHECK(lines[1] == "report: " + (experiment.run("small") / "report.html").string());
  CHECK(lines[2].starts_with("best: epoch "));
}

TEST_CASE("a run that cannot print its lines completes with exit code 1") {
  const Experiment experiment;
  const auto line = shell_line(experiment.command("train", "small"));
  const auto ended = RunningProgram{{"/bin/sh", "-c", line + ">/dev/full"}}.wait();
  CHECK(ended.code == 1);
  CHECK(ended.err == "troupe: standard output: No space left on device\n");
  CHECK(experiment.run("small").summary().at("status") == "completed");
}

TEST_CASE("commands that query, predict, convert and compare fail if they cannot print") {
  const Experiment experiment({"train.epochs=100000", "checkpoint.every=1000 epochs"});
  const auto run = experiment.completed("small", {"train.epochs=2"});
  const auto model = run.folder().string(), checkpoint = run.checkpoints().back().string();
  auto node = experiment.start_node("node", {"train.schedule.name=constant"});
  const auto address = daemon_address(node);
  const auto folder = (experiment / "made").string();
  const auto config = shell_word(Experiment::small_config().string());
  for (const std::string& command :
       {"status " + address, "status " + address + " --json", "predict " + model + " --split test",
        "convert " + checkpoint + " " + folder, "config check " + config, "stop " + address,
        "compare " + config + " --strategies single --set train.max_steps=2 --output " + folder}) {
    const auto line = shell_word(TROUPE_PROGRAM) + " " + command + " >/dev/full";
    const auto ended = RunningProgram{{"/bin/sh", "-c", line}}.wait();
    CAPTURE(line, ended.err);
    CHECK(ended.code == 1);
    CHECK(has(ended.err, "troupe: standard output: "));
  }
  CHECK(node.wait().code == 0); // it was stopped in spite of the error
}

TEST_CASE("with --verbose phases, checkpoints and workers are logged") {
  const Experiment experiment;
  const auto ended = experiment.train("small", {"--verbose"});
  CHECK(ended.code == 0);
  for (const char* part :
       {"debug: training\n", "debug: checkpoint of step 3 written in ", "debug: rank 0 on "})
    CHECK(has(ended.out, part));
  CHECK_FALSE(has(experiment.train("quiet").out, "debug: "));
}

TEST_CASE("closing the pipe that reads stdout does not end the run") {
  const Experiment experiment;
  const auto line = shell_line(experiment.command("train", "small"));
  CHECK(RunningProgram{{"/bin/sh", "-c", line + "| true"}}.wait().code == 0);
  CHECK(becomes_true([&] { return experiment.run("small").has("summary.json"); }));
  CHECK(experiment.run("small").summary().at("status") == "completed");
}
