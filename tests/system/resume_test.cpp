#include "tests/system/experiment.hpp"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <csignal>
#include <random>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Kills runs of one experiment at random moments.
class Killer {
public:
  explicit Killer(const Experiment& experiment)
      : experiment_{experiment}, random_{Catch::getSeed()} {}

  /// Starts the run once. Returns true when it was killed, false when it completed.
  bool kills(const std::string& name) {
    auto program = experiment_.start(name);
    if (below(5) == 0)
      return kills_in_a_while(program);
    // Kill in or after one of the first ten steps, so that 20 starts do not reach the end.
    const auto begun = [&] { return has(program.out(), "\n") || !program.running(); };
    const auto limit = becomes_true(begun) ? experiment_.run(name).steps_done() + below(10) : 0;
    becomes_true([&] { return experiment_.run(name).steps_done() >= limit || !program.running(); });
    return kills_in_a_while(program);
  }

private:
  /// Kills within 20 ms: during start, computation or writes.
  bool kills_in_a_while(RunningProgram& program) {
    const auto delay = std::chrono::microseconds{below(20000)};
    becomes_true([&] { return !program.running(); },
                 std::chrono::duration_cast<std::chrono::milliseconds>(delay));
    if (!program.running())
      return false;
    program.kill();
    return true;
  }
  std::int64_t below(std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>{0, end - 1}(random_);
  }

  const Experiment& experiment_;
  std::mt19937_64 random_;
};

/// Removes the times of epochs.
std::vector<nlohmann::json> results_of(std::vector<nlohmann::json> epochs) {
  for (auto& epoch : epochs)
    for (const char* key : {"seconds", "test_seconds", "time"})
      epoch.erase(key);
  return epochs;
}

void check_equal(const RunFiles& run, const RunFiles& undisturbed, std::int64_t steps) {
  CHECK(run.digest() == undisturbed.digest());
  CHECK(run.column<std::int64_t>("step") == all_steps(steps));
  CHECK(run.losses() == undisturbed.losses());
  CHECK(run.column<double>("lr") == undisturbed.column<double>("lr"));
  CHECK(results_of(run.epochs()) == results_of(undisturbed.epochs()));
  for (const auto& file : run.checkpoints()) // no half-written file stays
    CHECK(file.extension().empty());
}

/// Kills a run of 240 steps `kills` times and lets it complete. Starts another run when the first
/// completes too early.
void check_kills(const Settings& settings, int kills) {
  CAPTURE(Catch::getSeed());
  auto all = settings;
  all.insert(all.end(), {"train.epochs=30", "train.evaluate_every=10"});
  const Experiment experiment(all);
  const auto undisturbed = experiment.completed("undisturbed");
  Killer killer{experiment};
  for (int run = 0; kills > 0; ++run) {
    const auto name = "killed-" + std::to_string(run);
    while (kills > 0 && killer.kills(name))
      --kills;
    check_equal(experiment.completed(name), undisturbed, 240);
  }
}

} // namespace

TEST_CASE("a run killed at 20 random moments has the bits of an undisturbed run", "[long]") {
  check_kills({}, 20);
}

TEST_CASE("a run of two workers that is killed has the bits of an undisturbed run", "[long]") {
  check_kills({"parallel.strategy=ddp", "devices.count=2", "parallel.bucket_size=64KiB"}, 5);
}

TEST_CASE("a run with two micro-batches that is killed has the bits of an undisturbed run",
          "[exhaustive]") {
  check_kills({"train.accumulate=2", "train.optimizer.name=adamw",
               "train.optimizer.momentum.nesterov=false", "train.optimizer.lr=1e-3"},
              5);
}

TEST_CASE("a run with a loss scale that is killed has the bits of an undisturbed run",
          "[exhaustive]") {
  check_kills({"precision.mode=amp_fp16", "devices.engine=interpreter", "model.name=mlp"}, 5);
}

TEST_CASE("a model without bias resumes from its checkpoint without bias") {
  const Experiment experiment({"model={name: mlp, hidden: [16], bias: false}",
                               "train.schedule={name: constant, warmup: 0}"});
  const auto undisturbed = experiment.completed("undisturbed");
  experiment.completed("stopped", {"train.max_steps=9"});
  const auto run = experiment.completed("stopped");
  CHECK(run.digest() == undisturbed.digest());
  const auto checkpoint = run.newest_checkpoint();
  CHECK(checkpoint.find("fc.weight"));
  for (const auto& tensor : checkpoint.tensors)
    CHECK_FALSE(tensor.name.ends_with(".bias"));
  const auto refused = experiment.train("stopped", {"model.bias=true", "train.epochs=6"});
  CHECK(refused.code == 2);
  CHECK(has(refused.err, "the checkpoint has no tensor layers.0.bias"));
}

TEST_CASE("a model without bias does not resume from a checkpoint with bias") {
  const Experiment experiment({"model.name=linear"});
  experiment.completed("biased");
  const auto refused = experiment.train("biased", {"model.bias=false", "train.epochs=6"});
  CHECK(refused.code == 2);
  CHECK(has(refused.err, "the checkpoint has a tensor fc.bias, which the model lacks"));
}

TEST_CASE("a damaged newest checkpoint is named, and the previous one is used", "[long]") {
  const Experiment experiment;
  const auto undisturbed = experiment.completed("undisturbed");
  experiment.completed("damaged");
  const auto run = experiment.run("damaged");
  REQUIRE(run.checkpoints().size() == 2); // of steps 39 and 40
  const auto checkpoint = run.checkpoints().back();
  const auto newest =
      checkpoint / GENERATE("model.safetensors", "optimizer.safetensors", "checkpoint.json");

  SECTION("one bit is flipped") {
    const auto middle = std::filesystem::file_size(newest) / 2;
    write_byte(newest, middle, static_cast<char>(read_bytes(newest)[middle] ^ 1));
  }
  SECTION("its end is missing") {
    std::filesystem::resize_file(newest, std::filesystem::file_size(newest) - 2);
  }
  SECTION("it is empty") {
    std::filesystem::resize_file(newest, 0);
  }
  const auto ended = experiment.train("damaged");
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 0);
  CHECK(has(ended.err, checkpoint.string()));
  CHECK(has(ended.out, "resumes after step 39"));
  check_equal(run, undisturbed, 40);
}

TEST_CASE("a run whose checkpoints are all damaged starts over and reports why") {
  const Experiment experiment;
  const auto undisturbed = experiment.completed("undisturbed");
  const auto run = experiment.completed("damaged");
  for (const auto& checkpoint : run.checkpoints())
    std::filesystem::resize_file(checkpoint / "model.safetensors", 100);
  const auto ended = experiment.train("damaged");
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 0);
  CHECK(has(ended.err, "step-000000039"));
  CHECK(has(ended.err, "step-000000040"));
  check_equal(run, undisturbed, 40);
}

TEST_CASE("a completed run stays completed when it is started again") {
  const Experiment experiment;
  const auto run = experiment.completed("small");
  const auto before = run.summary();
  experiment.completed("small");
  const auto after = run.summary();
  for (const char* key : {"steps", "epochs", "loss", "accuracy", "parameters_sha256"})
    CHECK(after.at(key) == before.at(key));
  CHECK(run.column<std::int64_t>("step") == all_steps(40));
}

TEST_CASE("a run whose checkpoint is beyond its new end is refused and kept") {
  const Experiment experiment;
  const auto run = experiment.completed("small");
  const auto summary = run.summary();
  const auto ended = experiment.train("small", {"train.max_steps=30"});
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 2);
  CHECK(has(ended.err, "the checkpoint is of step 40, but the job ends at step 30"));
  CHECK(has(ended.err, "train.max_steps"));
  CHECK(run.summary() == summary);
  CHECK(run.newest_checkpoint().step == 40);
}

TEST_CASE("a run of an earlier version of the program resumes from its checkpoint") {
  const auto old_run = source_tree() / "tests/fixtures/old_run";
  const Experiment experiment({}, old_run / "config.yaml");
  const auto run = experiment.run("old");
  std::filesystem::create_directories(experiment.output());
  std::filesystem::copy(old_run, run.folder(), std::filesystem::copy_options::recursive);
  const auto losses = run.losses(); // of all 12 steps, as trained by that version
  const auto ended = experiment.train("old");
  CAPTURE(ended.out, ended.err);
  REQUIRE(ended.code == 0);
  CHECK(has(ended.out, "resumes after step 6"));
  CHECK(has(ended.err, "the checkpoint of step 6 does not record its training data"));
  CHECK(run.summary().at("status") == "completed");
  CHECK(largest_difference(run.losses(), losses) < 1e-4);
}

TEST_CASE("a run resumes only with its own data, but others can start with its parameters") {
  const Experiment experiment;
  const auto summary = experiment.completed("small", {"train.epochs=2"}).summary();
  CHECK(summary.at("class_names").size() == 10);
  const auto newest = experiment.run("small").checkpoints().back().string();
  const auto refused = [&](const Ended& ended, const std::string& values) {
    CAPTURE(ended.out, ended.err);
    CHECK(ended.code == 2);
    CHECK(has(ended.err, values));
    CHECK(has(ended.err, "model.pretrained: " + newest));
    CHECK(experiment.run("small").summary() == summary);
  };
  refused(experiment.train("small", {"data.limit=32"}),
          "trained on 64 samples, but the data set has 32 samples");
  refused(experiment.train("small", {"data.image_size=12"}),
          "trained on data with the fingerprint ");
  refused(experiment.start_node("small", {"data.limit=32"}).wait(), "64 samples");
  experiment.completed("other", {"data.limit=32", "model.pretrained=" + newest});
  experiment.completed("small");
}

TEST_CASE("with checkpoint.resume=never an earlier run is moved aside") {
  const Experiment experiment;
  const auto first = experiment.completed("small");
  const auto summary = first.summary();
  const auto ended = experiment.train("small", {"checkpoint.resume=never"});
  CHECK(ended.code == 0);
  CHECK(has(ended.err, "small.1"));
  CHECK(experiment.run("small.1").summary() == summary);
  CHECK(experiment.run("small").digest() == first.digest());
}

TEST_CASE("a failed start leaves the finished run in place") {
  const Experiment experiment;
  const auto run = experiment.completed("small");
  const auto summary = run.summary();
  const auto missing = (experiment / "missing").string();
  const Settings failing = {"checkpoint.resume=never", "data.dataset=cifar10",
                            "data.root=" + missing};
  const auto ended = GENERATE(true, false) ? experiment.train("small", failing)
                                           : experiment.start_node("small", failing).wait();
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 2);
  CHECK(has(ended.err, missing));
  CHECK(run.summary() == summary);
  CHECK(run.column<std::int64_t>("step") == all_steps(40));
  CHECK_FALSE(std::filesystem::exists(experiment.output() / "small.1"));
}

TEST_CASE("a daemon's first run of a name moves nothing aside") {
  const Experiment experiment;
  auto node = experiment.start_node("small", {"checkpoint.resume=never"});
  REQUIRE(node.prints("small: completed"));
  node.send(SIGTERM);
  const auto ended = node.wait();
  CHECK_FALSE(has(ended.err, "small.1"));
  CHECK_FALSE(std::filesystem::exists(experiment.output() / "small.1"));
}

TEST_CASE("a daemon's earlier run is moved aside with all its files when the new run begins") {
  const Experiment experiment;
  const auto summary = experiment.completed("small").summary();
  auto node = experiment.start_node("small", {"checkpoint.resume=never"});
  REQUIRE(node.prints("small: completed"));
  node.send(SIGTERM);
  const auto ended = node.wait();
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 0);
  CHECK(has(ended.err, "small.1"));
  CHECK(experiment.run("small.1").summary() == summary);
  const auto run = experiment.run("small");
  CHECK(run.summary().at("status") == "completed");
  CHECK(run.column<std::int64_t>("step") == all_steps(40));
}

TEST_CASE("a run that resumes with other training settings reports each with both values") {
  const Experiment experiment;
  experiment.completed("small");
  const auto ended =
      experiment.train("small", {"train.epochs=9", "train.optimizer.lr=0.1", "data.augment=[]",
                                 "train.evaluate_every=3", "checkpoint.keep=3"});
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 0);
  CHECK(
      has(ended.err, "train.epochs was 5 up to step 40 and is now 9; the next learning rate is "));
  CHECK(has(ended.err, "train.optimizer.lr was 0.05 up to step 40 and is now 0.1; the next "));
  CHECK(has(ended.err, "data.augment was [crop, flip] up to step 40 and is now []\n"));
  CHECK_FALSE(has(ended.err, "evaluate_every"));
  CHECK_FALSE(has(ended.err, "checkpoint.keep"));
  const auto again =
      experiment.train("small", {"train.epochs=9", "train.optimizer.lr=0.1", "data.augment=[]"});
  CHECK_FALSE(has(again.err, " up to step "));
}

TEST_CASE("a run does not resume with another seed") {
  const Experiment experiment;
  const auto summary = experiment.completed("small").summary();
  const auto ended = experiment.train("small", {"run.seed=8"});
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 2);
  CHECK(has(ended.err, "seed 7, but the config has 8"));
  CHECK(has(ended.err, "checkpoint.resume"));
  CHECK(experiment.run("small").summary() == summary);
}
