// Tests the texts that language models write during training (train.sample).
#include "tests/system/daemons.hpp"
#include "tests/system/language_runs.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Two slices, whose sums have the same bits for any assignment.
const Settings base = {"data.slices=2", "devices.threads_per_worker=1"};

Settings sampled(int every) {
  return {"train.sample.every=" + std::to_string(every) + " steps",
          "train.sample.prompt=The actors", "train.sample.tokens=20"};
}

/// Returns step and text of each sample.
std::vector<std::pair<std::int64_t, std::string>> samples_of(const RunFiles& run) {
  std::vector<std::pair<std::int64_t, std::string>> samples;
  for (const auto& line : run.samples()) {
    CHECK(line.at("prompt") == "The actors");
    samples.emplace_back(line.at("step"), line.at("text"));
  }
  return samples;
}

std::vector<std::int64_t> steps_of(const RunFiles& run) {
  std::vector<std::int64_t> steps;
  for (const auto& [step, text] : samples_of(run))
    steps.push_back(step);
  return steps;
}

} // namespace

TEST_CASE("a language model generates the same samples with every strategy") {
  const std::string model = GENERATE("gpt2-mini", "llama-mini");
  CAPTURE(model);
  const auto experiment = on_text(model, base + sampled(3));
  const auto alone = experiment.completed("alone");
  CHECK(steps_of(alone) == std::vector<std::int64_t>{3, 6, 8});
  int number = 0;
  for (const auto& shared :
       {workers("ddp", 2), workers("zero1", 2), workers("zero2", 2), workers("zero3", 2),
        workers("zero3", 2) + Settings{"checkpoint.state=sharded"},
        workers("async", 2) + Settings{"parallel.async.staleness=0"}}) {
    CAPTURE(shared);
    const auto together = experiment.completed("shared" + std::to_string(++number), shared);
    CHECK(samples_of(together) == samples_of(alone));
  }
}

TEST_CASE("daemons write the same samples as one process") {
  const auto experiment = on_text("llama-mini", base + sampled(3));
  const auto alone = experiment.completed("alone");
  Daemons daemons{experiment, "nodes",
                  quick_timeouts + Settings{"parallel.strategy=zero3", "cluster.nodes=2"}};
  auto& leader = daemons.lead();
  const auto followed = daemons.join().wait();
  INFO(followed.out << followed.err);
  CHECK(followed.code == 0);
  CHECK(stop(leader).code == 0);
  CHECK(samples_of(experiment.run("nodes")) == samples_of(alone));
}

TEST_CASE("samples do not change training, even if ranks train apart") {
  const auto settings =
      GENERATE(workers("single", 1), workers("ddp", 2), workers("zero3", 2), workers("hsdp", 4),
               workers("local_sgd", 2) + Settings{"parallel.local_sgd.steps=3"},
               workers("diloco", 2) + Settings{"parallel.diloco.steps=3"},
               workers("async", 2) + Settings{"parallel.async.staleness=0"});
  CAPTURE(settings);
  const auto experiment = on_text("llama-mini", settings + Settings{"devices.threads_per_worker=1",
                                                                    "train.evaluate_every=0",
                                                                    "checkpoint.every=never"});
  const auto with = experiment.completed("with", sampled(2));
  CHECK(steps_of(with) == std::vector<std::int64_t>{2, 4, 6, 8});
  const auto without = experiment.completed("without");
  CHECK(without.samples().empty());
  CHECK(with.digest() == without.digest());
  CHECK(with.losses() == without.losses());
}

TEST_CASE("a sample equals the output of generate for the checkpoint of its step") {
  const std::string model = GENERATE("gpt2-mini", "llama-mini");
  CAPTURE(model);
  const auto experiment = on_text(model, sampled(3) + Settings{"checkpoint.keep=10"});
  const auto run = experiment.completed("run"); // also writes a checkpoint every three steps
  const auto checkpoints = run.checkpoints();
  const auto samples = samples_of(run);
  REQUIRE(samples.size() == 3);
  REQUIRE(checkpoints.size() == 3);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto seed = std::to_string(7 + samples[i].first); // run.seed, and the step
    const auto ended = ask_about("generate", checkpoints[i],
                                 {"The actors", "--tokens", "20", "--seed", seed, "--json", "--set",
                                  "devices.kind=cpu", "--set", "devices.threads_per_worker=1"});
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
    CHECK(nlohmann::json::parse(ended.out).at("text") == samples[i].second);
  }
}

TEST_CASE("a resumed run has the samples of an undisturbed one") {
  const auto experiment =
      on_text("llama-mini", sampled(2) + Settings{"train.schedule.name=constant"});
  const auto whole = experiment.completed("whole");
  experiment.completed("parts", {"train.max_steps=4"});
  const auto parts = experiment.completed("parts", {"checkpoint.resume=auto"});
  CHECK(samples_of(parts) == samples_of(whole));
  CHECK(parts.digest() == whole.digest());
}

TEST_CASE("samples are printed when they are generated and are in the report") {
  const auto experiment = on_text("gpt2-mini", {"train.sample.every=5 steps"});
  const auto ended = experiment.train("run");
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(has(ended.out, "step 5 generates: "));
  CHECK(has(ended.out, "step 8 generates: "));
  const auto run = experiment.run("run");
  REQUIRE(run.samples().size() == 2);
  CHECK(run.samples().front().at("prompt") == ""); // the start of a document
  CHECK(run.samples().front().at("tokens") <= 100);
  CHECK(has(read_bytes(run / "report.html"), R"({"step":5,"time":)"));
}

TEST_CASE("a prompt longer than the model's positions is refused before training") {
  const auto ended =
      on_text("gpt2-mini", {"model.positions=32", "train.sample.every=1 epoch",
                            "train.sample.prompt=a prompt of more than thirty-two bytes"})
          .train("run");
  CHECK(ended.code == 2);
  CHECK(has(ended.err,
            "train.sample: the prompt has 38 tokens, but the model has only 32 positions"));
}
