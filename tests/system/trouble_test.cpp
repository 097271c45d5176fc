// Tests failures during training.
#include "tests/support/shell_line.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <sys/resource.h>

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("a NaN loss ends the run, and earlier checkpoints stay") {
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

TEST_CASE("parameters that overflow do not replace good checkpoints") {
  const Experiment experiment({"checkpoint.every=1 steps", "checkpoint.keep=1"});
  const auto run = experiment.completed("small", {"train.epochs=2"});
  const auto ended = experiment.train("small", {"train.optimizer.lr=1e300"});
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 1);
  CHECK(run.newest_checkpoint().step == 16);
  // After the setting is corrected, the run continues.
  experiment.completed("small");
}

TEST_CASE("failed checkpoints are counted and reported, and without the last one the run fails") {
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

namespace {

/// Runs `command` in a shell where no file can exceed `blocks` blocks of 512 bytes.
std::vector<std::string> with_small_files(int blocks, const std::vector<std::string>& command) {
  std::vector<std::string> words = {"/bin/sh", "-c",
                                    "ulimit -f " + std::to_string(blocks) + "; exec \"$@\"", "sh"};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

} // namespace

TEST_CASE("a run without space for its events or summary fails") {
  const Experiment experiment({"checkpoint.every=never"});
  const auto run = experiment.run("small");
  SECTION("events") {
    const auto ended =
        RunningProgram{with_small_files(8, experiment.command("train", "small"))}.wait();
    CAPTURE(ended.out, ended.err);
    CHECK(ended.code == 1);
    CHECK(has(ended.err, "no space left: the run's logs are incomplete: cannot write"));
    CHECK(run.steps_done() < 40);
    CHECK(run.summary().at("steps") == 40); // the run continues to its end: space may become free
    CHECK(run.summary().at("status") == "failed");
    CHECK(has(run.summary().at("error").get<std::string>(), "events.jsonl"));
  }
  SECTION("the summary") {
    const auto ended =
        RunningProgram{
            with_small_files(7, experiment.command("train", "small",
                                                   {"parallel.strategy=ddp", "devices.count=4",
                                                    "train.max_steps=2"}))}
            .wait();
    CAPTURE(ended.out, ended.err);
    CHECK(ended.code == 1);
    CHECK(has(ended.err, "no space left: the run's logs are incomplete: cannot write"));
    CHECK(has(ended.err, "summary.json"));
    CHECK(run.steps_done() == 2);
    CHECK_FALSE(run.has("summary.json"));
  }
}

#ifndef __SANITIZE_ADDRESS__ // the sanitizer keeps freed memory
// A failing run does not reach its end: its peak memory is that of training.
TEST_CASE("the end of a run takes at most 64 MiB more than training", "[long]") {
  const Settings large = {"model.name=linear",
                          "model.num_classes=1000",
                          "data.image_size=64",
                          "train.optimizer.name=adam",
                          "train.optimizer.momentum.nesterov=false",
                          "train.optimizer.lr=1e-4",
                          "train.max_steps=3",
                          "data.augment=[]"};
  const Settings job =
      GENERATE(Settings{"checkpoint.every=never"}, Settings{"checkpoint.every=1 epochs"},
               Settings{"checkpoint.every=never", "parallel.strategy=fsdp", "devices.count=2"});
  CAPTURE(job);
  const auto peak = [] { // of the largest child so far, MiB
    rusage usage{};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    return usage.ru_maxrss / 1024;
  };
  const Experiment experiment{large + job};
  CHECK(experiment.train("fails", {"train.optimizer.lr=1e300"}).code == 1);
  const auto training = peak();
  CHECK(training > 180); // 47 MiB each of parameters, gradients and two moments
  experiment.completed("ends");
  CHECK(peak() - training <= 64);
}
#endif

TEST_CASE("a full disk prevents checkpoints, and fails the run only without the last one") {
  const Experiment experiment;
  const auto disk = experiment / "disk", kept = experiment / "kept";
  std::filesystem::create_directories(disk);
  // A small private disk, which vanishes with the process.
  const auto on_small_disk = [&](const std::string& command) {
    return std::vector<std::string>{
        "unshare", "--map-root-user",
        "--mount", "/bin/sh",
        "-c",      "mount -t tmpfs -o size=3m tmpfs " + disk.string() + " && " + command};
  };
  if (RunningProgram{on_small_disk("true")}.wait().code != 0)
    SKIP("no file system can be mounted here");

  const auto train =
      shell_line(experiment.command("train", "small", {"run.output=" + disk.string()}));
  const auto ended =
      RunningProgram{on_small_disk(train + "; code=$?; cp -r " + (disk / "small").string() + " " +
                                   kept.string() + " && exit $code")}
          .wait();
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 1); // the result of the last steps is lost
  const RunFiles run{kept};
  CHECK(run.summary().at("status") == "failed");
  CHECK(run.summary().at("checkpoints") == 1); // one checkpoint fits
  CHECK(run.summary().at("checkpoint_failures") == 13);
  CHECK(run.newest_checkpoint().step == 3);
  CHECK(run.column<std::int64_t>("step") == all_steps(40));
  CHECK(has(ended.err, "error: no space left: the last checkpoint was not written"));
  CHECK(has(ended.err, "13 checkpoints not written"));
}
