// What goes wrong while it trains.
#include "experiment.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("a loss that is not a number ends the run, and earlier checkpoints stay") {
  const Settings parallel =
      GENERATE(Settings{}, Settings{"parallel.strategy=ddp", "devices.count=2"});
  CAPTURE(parallel);
  const Experiment experiment(parallel);
  const auto run = experiment.completed("small", {"train.epochs=2"});
  const auto ended = experiment.train("small", {"train.optimizer.lr=1e30"});
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 1);
  CHECK(has(ended.err, "the loss is"));
  CHECK(has(ended.err, "rank "));
  CHECK(has(ended.err, "step "));
  const auto summary = run.summary();
  CHECK(summary.at("status") == "failed");
  CHECK(has(summary.at("error").get<std::string>(), "rank "));
  CHECK(has(summary.at("error").get<std::string>(), "step "));
  CHECK(run.newest_checkpoint().step == 16);
}

TEST_CASE("parameters that overflow do not take the place of good checkpoints") {
  const Experiment experiment({"checkpoint.every=1 steps", "checkpoint.keep=1"});
  const auto run = experiment.completed("small", {"train.epochs=2"});
  const auto ended = experiment.train("small", {"train.optimizer.lr=1e300"});
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 1);
  CHECK(run.newest_checkpoint().step == 16);
  // What is wrong was changed back: the run goes on.
  experiment.completed("small");
}

TEST_CASE(
    "checkpoints that cannot be written are counted and said; without the last the run fails") {
  const Experiment experiment;
  const auto undisturbed = experiment.completed("undisturbed");
  const auto run = experiment.run("small");
  std::filesystem::create_directories(run.folder());
  write_bytes(run / "checkpoints", "where a folder should be");
  const auto ended = experiment.train("small");
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 1);
  CHECK(has(ended.err, (run / "checkpoints").string()));
  CHECK(has(ended.err, "the checkpoint of step 3 was not written"));
  CHECK(has(ended.err, "the last checkpoint was not written"));
  CHECK(run.summary().at("status") == "failed");
  CHECK(run.summary().at("steps") == 40);
  CHECK(run.summary().at("checkpoints") == 0);
  CHECK(run.summary().at("checkpoint_failures") == 14); // every 3 of 40 steps, and the last
  CHECK(run.digest() == undisturbed.digest());
}

TEST_CASE("a full disk costs checkpoints, and steps only when the last one has no room") {
  const Experiment experiment;
  const auto disk = experiment / "disk", kept = experiment / "kept";
  std::filesystem::create_directories(disk);
  // A small disk of its own, which nobody else sees and which is gone with the process.
  const auto on_small_disk = [&](const std::string& command) {
    return std::vector<std::string>{
        "unshare", "--map-root-user",
        "--mount", "/bin/sh",
        "-c",      "mount -t tmpfs -o size=3m tmpfs " + disk.string() + " && " + command};
  };
  if (RunningProgram{on_small_disk("true")}.wait().code != 0)
    SKIP("no file system can be mounted here");

  std::string train;
  for (const auto& word : experiment.command("train", "small", {"run.output=" + disk.string()}))
    train += "'" + word + "' ";
  const auto ended =
      RunningProgram{on_small_disk(train + "; code=$?; cp -r " + (disk / "small").string() + " " +
                                   kept.string() + " && exit $code")}
          .wait();
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 1); // what the last steps have trained is lost
  const RunFiles run{kept};
  CHECK(run.summary().at("status") == "failed");
  CHECK(run.summary().at("checkpoints") == 1); // there is room for one
  CHECK(run.summary().at("checkpoint_failures") == 13);
  CHECK(run.newest_checkpoint().step == 3);
  CHECK(run.column<std::int64_t>("step") == all_steps(40));
  CHECK(has(ended.err, "error: no space left: the last checkpoint was not written"));
  CHECK(has(ended.err, "13 checkpoints not written"));
}
