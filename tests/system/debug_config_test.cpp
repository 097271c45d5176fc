#include "tests/support/source_tree.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <map>

using namespace troupe;
using namespace troupe::testing;

namespace {

const auto debug_config = source_tree() / "configs/debug.yaml";

/// Returns the digest of a checkpoint's parameters.
std::string digest_of(const Checkpoint& checkpoint) {
  std::map<std::string, std::span<const float>> parameters;
  for (const auto& tensor : checkpoint.tensors)
    if (!tensor.name.starts_with("optimizer.") && !has(tensor.name, ".running_"))
      parameters.emplace(tensor.name, tensor.values);
  return parameters_sha256(parameters);
}

} // namespace

TEST_CASE("the debug config trains completely and writes a complete run folder") {
  const Experiment experiment({"train.max_steps=20"}, debug_config);
  const auto ended = experiment.train("debug");
  CAPTURE(ended.out, ended.err);
  REQUIRE(ended.code == 0);
  CHECK(has(ended.out, "epoch 2/2"));
  CHECK(has(ended.out, "debug: completed"));
  CHECK(ended.err.empty());

  const auto run = experiment.run("debug");
  CHECK(run.column<std::int64_t>("step") == all_steps(20));
  for (const auto& event : run.events())
    for (const char* key : {"step", "epoch", "loss", "samples", "seconds"})
      CHECK(event.contains(key));
  const auto epochs = run.epochs();
  REQUIRE(epochs.size() == 2);
  CHECK(epochs[1].at("train_loss") < epochs[0].at("train_loss"));
  CHECK(epochs[1].at("test_accuracy").is_number());

  const auto summary = run.summary();
  for (const char* key :
       {"status", "epochs", "steps", "samples", "seconds", "samples_per_second", "loss", "accuracy",
        "world_size", "strategy", "precision", "parameters_sha256", "workers", "overlap_ratio"})
    CHECK(summary.contains(key));
  CHECK(summary.at("status") == "completed");
  CHECK(summary.at("epochs") == 2);
  CHECK(summary.at("steps") == 20);
  CHECK(summary.at("samples") == 320);
  CHECK(summary.at("loss") == run.losses().back());
  CHECK(summary.at("accuracy") == epochs[1].at("test_accuracy"));
  CHECK(summary.at("version") != "");
  REQUIRE(summary.at("workers").size() == 1);
  for (const char* key : {"rank", "device", "peak_memory_bytes", "parameter_bytes",
                          "gradient_bytes", "optimizer_bytes", "busy_ratio"})
    CHECK(summary.at("workers")[0].contains(key));
  CHECK(summary.at("workers")[0].at("parameter_bytes") > 0);

  CHECK(run.checkpoints().size() == 2);
  CHECK(run.newest_checkpoint().step == 20);
  CHECK(digest_of(run.newest_checkpoint()) == run.digest());
  CHECK(has(read_bytes(run / "report.html"), "</html>"));
}

TEST_CASE("the config in a run's folder gives the same run again") {
  const Experiment experiment({}, debug_config);
  const auto first = experiment.completed("debug");
  const Experiment again({}, first / "config.yaml");
  CHECK(again.completed("again").digest() == first.digest());
}

TEST_CASE("the fastest engine has the interpreter's losses") {
  const std::string model = GENERATE("linear", "mlp", "resnet20");
  CAPTURE(model);
  const Experiment experiment({"model.name=" + model, "model.hidden=[24]", "train.max_steps=10",
                               "data.batch_size=4", "train.evaluate_every=0",
                               // Small steps: larger ones amplify a difference of one bit.
                               "train.optimizer.lr=0.01"});
  const auto reference = experiment.completed("truth", {"devices.engine=interpreter"}).losses();
  const auto fast = experiment.completed("fast").losses();
  CAPTURE(reference, fast);
  CHECK(reference.size() == 10);
  CHECK(largest_difference(fast, reference) < 1e-4);
}
