// Tests the report of a run that continues, was killed, or has ended: it agrees with the run's
// files.
#include "tests/system/experiment.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::testing;
using Catch::Approx;
using Json = nlohmann::json;

namespace {

Ended make_report(const RunFiles& run, const std::vector<std::string>& options = {}) {
  std::vector<std::string> words = {TROUPE_PROGRAM, "report", run.folder().string()};
  words.insert(words.end(), options.begin(), options.end());
  return RunningProgram{words}.wait();
}

Json reported(const RunFiles& run) {
  const auto ended = make_report(run, {"--json"});
  CAPTURE(ended.out, ended.err);
  REQUIRE(ended.code == 0);
  return Json::parse(ended.out);
}

/// Checks the steps of a run that has fewer steps than the document has points.
void check_history(const Json& document, const std::vector<Json>& events) {
  const auto& steps = document.at("steps");
  REQUIRE(steps.at("per_point") == 1);
  REQUIRE(steps.at("step").size() == events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    CHECK(steps.at("step")[i] == events[i].at("step"));
    CHECK(steps.at("epoch")[i] == events[i].at("epoch"));
    CHECK(steps.at("loss")[i].get<double>() ==
          Approx(events[i].at("loss").get<double>()).epsilon(1e-6));
    CHECK(steps.at("lr")[i].get<double>() ==
          Approx(events[i].at("lr").get<double>()).epsilon(1e-6));
  }
  const auto& progress = document.at("progress");
  CHECK(progress.at("steps") == events.back().at("step").get<int>() + 1);
  CHECK(progress.at("loss") == events.back().at("loss"));
  CHECK(progress.at("accuracy") == events.back().at("accuracy"));
}

const Settings long_run = {"train.epochs=1000", "train.evaluate_every=0"};

} // namespace

TEST_CASE("a report can be made of a running run and of a killed one") {
  const Experiment experiment;
  auto program = experiment.start("long", long_run);
  const auto run = experiment.run("long");
  REQUIRE(becomes_true([&] { return run.has("report.html") && run.steps_done() > 5; }));
  const auto before = reported(run);
  CHECK(before.at("status") == "running");
  CHECK(before.at("progress").at("steps") > 5);
  CHECK(before.at("progress").at("seconds_left").get<double>() > 0);
  CHECK(before.at("run").at("model") == "resnet20");
  CHECK(before.at("config") == read_bytes(run / "config.yaml"));
  program.kill();
  const auto after = reported(run);
  CHECK(after.at("status") == "interrupted");
  CHECK(after.at("progress").at("steps") >= before.at("progress").at("steps"));
  CHECK(after.at("progress").at("seconds_left").is_null());
  check_history(after, run.events());

  const auto elsewhere = experiment / "look.html";
  const auto unchanged = read_bytes(run / "report.html");
  const auto ended = make_report(run, {"-o", elsewhere.string()});
  CHECK(ended.code == 0);
  CHECK(ended.out == "report: " + elsewhere.string() + "\n");
  CHECK(has(read_bytes(elsewhere), "\"interrupted\""));
  CHECK(read_bytes(run / "report.html") == unchanged);
  REQUIRE(make_report(run).code == 0);
  CHECK(has(read_bytes(run / "report.html"), "\"interrupted\""));
}

TEST_CASE("the report of an ended run matches its summary and its logs") {
  const Experiment experiment{{"parallel.strategy=ddp", "devices.count=2"}};
  const Settings evaluated = {"train.evaluate_every=1"};
  experiment.completed("run", evaluated + Settings{"train.max_steps=5"});
  const auto run = experiment.completed("run", evaluated); // the run continues
  const auto summary = run.summary();
  const auto document = reported(run);
  CHECK(document.at("status") == summary.at("status"));
  const auto& progress = document.at("progress");
  for (const char* key : {"steps", "samples", "seconds", "samples_per_second", "loss",
                          "overlap_ratio", "parameters_sha256"}) {
    CAPTURE(key);
    CHECK(progress.at(key) == summary.at(key));
  }
  CHECK(progress.at("test_accuracy") == summary.at("accuracy"));
  CHECK(progress.at("test_loss") == run.epochs().back().at("test_loss"));
  CHECK(document.at("epochs") == Json(run.epochs()));
  CHECK(document.at("checkpoints").at("written") == summary.at("checkpoints"));
  REQUIRE(document.at("workers").size() == 2);
  for (std::size_t i = 0; i < 2; ++i)
    for (const char* key : {"device", "peak_memory_bytes", "busy_ratio", "peak_bytes_by_kind"})
      CHECK(document.at("workers")[i].at(key) == summary.at("workers")[i].at(key));
  check_history(document, run.events());
}

TEST_CASE("a folder that is not a run's is refused with the missing files, and notes are printed") {
  const Experiment experiment;
  std::filesystem::create_directories(experiment.output() / "empty");
  const auto refused = make_report(experiment.run("empty"));
  CHECK(refused.code == 2);
  CHECK(has(refused.err, "run.json"));
  CHECK(make_report(experiment.run("missing")).code == 2);
  const auto run = experiment.completed("run");
  write_bytes(run / "events.jsonl", "{half a line\n" + read_bytes(run / "events.jsonl"));
  const auto ended = make_report(run);
  CHECK(ended.code == 0);
  CHECK(ended.err == "troupe: 1 damaged line of events.jsonl is left out\n");
}
