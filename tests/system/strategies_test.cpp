// Tests that every strategy gives the results of one worker that takes the same micro-batches one
// after the other. Ranks are summed in the order of micro-batches, so that all bits are equal.
#include "core/float16.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cmath>

using namespace troupe;
using namespace troupe::testing;

namespace {

Settings micro_batches(int count) {
  return {"train.accumulate=" + std::to_string(count)};
}

std::vector<double> first_two(const std::vector<double>& losses) {
  return {losses.begin(), losses.begin() + 2};
}

constexpr auto all = {"dp", "ddp", "zero1", "zero2", "zero3", "fsdp", "hsdp"};

/// Compares `count` workers with one worker that has `count` micro-batches.
void check_strategies(int count, const std::string& model) {
  CAPTURE(count, model);
  const Experiment experiment({"data.batch_size=12", "data.limit=60", "model.name=" + model,
                               "train.max_steps=10", "train.evaluate_every=1",
                               "train.optimizer.name=adamw", "train.optimizer.lr=0.001",
                               "train.optimizer.momentum.nesterov=false"});
  const auto alone = experiment.completed("alone", micro_batches(count));
  for (const std::string strategy : all) {
    if (strategy == "hsdp" && count % 2 != 0)
      continue;
    CAPTURE(strategy);
    const auto together = experiment.completed(strategy, workers(strategy, count));
    CHECK(together.summary().at("strategy") == strategy);
    CHECK(together.summary().at("world_size") == count);
    if (strategy == "hsdp" && count == 4) {
      // hsdp sums within groups, then over groups; ten steps amplify that to 1e-4 and more.
      CHECK(largest_difference(together.losses(), alone.losses()) < 1e-3);
      continue;
    }
    check_same(together, alone);
    CHECK(together.summary().at("accuracy") == alone.summary().at("accuracy"));
  }
}

} // namespace

TEST_CASE("every strategy matches one worker", "[long]") {
  check_strategies(GENERATE(2, 3), GENERATE("resnet20", "mlp"));
}

TEST_CASE("every strategy matches one worker, also on one and on four workers", "[long]") {
  check_strategies(GENERATE(1, 4), GENERATE("resnet20", "mlp"));
}

TEST_CASE("every strategy trains ResNet-50 like one worker", "[exhaustive]") {
  const auto count = GENERATE(1, 2, 3, 4);
  CAPTURE(count);
  const Experiment experiment({"model.name=resnet50", "model.width=16", "data.batch_size=12",
                               "train.max_steps=10", "train.evaluate_every=0",
                               "checkpoint.every=never"});
  const auto alone = experiment.completed("alone", micro_batches(count));
  for (const std::string strategy : {"dp", "ddp", "zero1", "zero2", "zero3", "hsdp"}) {
    if (strategy == "hsdp" && count % 2 != 0)
      continue;
    CAPTURE(strategy);
    const auto together = experiment.completed(strategy, workers(strategy, count));
    if (strategy == "hsdp" && count == 4) {
      // hsdp sums within groups, then over groups; batch norm over three samples amplifies that.
      CHECK(largest_difference(first_two(together.losses()), first_two(alone.losses())) < 1e-3);
      continue;
    }
    CHECK(together.losses() == alone.losses());
    CHECK(together.digest() == alone.digest());
  }
}

TEST_CASE("memory settings of a strategy do not change a bit", "[long]") {
  const Experiment experiment(
      {"data.batch_size=12", "train.max_steps=6", "train.evaluate_every=0"});
  const auto alone = experiment.completed("alone", micro_batches(3));
  const auto settings = GENERATE(Settings{"parallel.prefetch=0"}, Settings{"parallel.prefetch=3"},
                                 Settings{"parallel.prefetch=100"}, Settings{"parallel.prefetch=0"},
                                 Settings{"parallel.reshard_after_forward=false"},
                                 Settings{"parallel.wrap={min_num_params: 30000}"},
                                 Settings{"parallel.wrap=[layer1, layer3.1]"});
  CAPTURE(settings);
  check_same(experiment.completed("together", workers("zero3", 3) + settings), alone);
}

TEST_CASE("micro-batches of several workers are the step's slices, reduced once or one by one",
          "[long]") {
  const std::string strategy = GENERATE("ddp", "zero1", "zero2", "zero3", "hsdp");
  const auto* const no_sync = GENERATE("true", "false");
  CAPTURE(strategy, no_sync);
  const Experiment experiment(
      {"data.batch_size=24", "train.max_steps=6", "train.evaluate_every=0", "model.name=mlp"});
  const auto alone = experiment.completed("alone", micro_batches(12));
  const auto together =
      experiment.completed("together", workers(strategy, 4) + micro_batches(3) +
                                           Settings{std::string{"parallel.no_sync="} + no_sync});
  // The same numbers in another order: first over a worker's micro-batches, then over workers.
  CHECK(largest_difference(together.losses(), alone.losses()) < 1e-5);
}

TEST_CASE("clipping and loss scaling use the gradients of all ranks", "[long]") {
  const std::string strategy = GENERATE("dp", "ddp", "zero1", "zero2", "zero3", "hsdp");
  const auto mode = GENERATE(Settings{"train.clip_grad=0.5"},
                             Settings{"precision.mode=amp_fp16", "train.clip_grad=0.5",
                                      "precision.loss_scale.initial=1e9"});
  CAPTURE(strategy, mode);
  const Experiment experiment(Settings{"model.name=mlp", "data.batch_size=16", "train.max_steps=10",
                                       "train.evaluate_every=0"} +
                              mode);
  const auto alone = experiment.completed("alone", micro_batches(4));
  const auto together = experiment.completed("together", workers(strategy, 4));
  // The norm is a sum of shards' norms: equal up to rounding.
  CHECK(largest_difference(together.losses(), alone.losses()) < 1e-5);
  if (mode.size() > 1) {
    CHECK(alone.column<int>("skipped_steps").back() > 0);
    CHECK(together.column<int>("skipped_steps") == alone.column<int>("skipped_steps"));
    CHECK(together.column<double>("loss_scale") == alone.column<double>("loss_scale"));
  }
}

TEST_CASE("measuring the gradient norm changes no bit, and all strategies measure the same",
          "[long]") {
  // One model has a layout with gaps between parameters, in which other buckets leave their
  // gradients.
  const std::string model = GENERATE("resnet20", "mlp");
  CAPTURE(model);
  const Experiment experiment({"model.name=" + model, "data.batch_size=12", "train.max_steps=6",
                               "train.evaluate_every=0", "parallel.bucket_size=16KiB"});
  const Settings every_other = {"train.gradient_norm_every=2"};
  const auto alone = experiment.completed("alone", micro_batches(4) + every_other);
  const auto norms_of = [](const RunFiles& run) {
    std::vector<double> norms;
    for (const auto& event : run.events())
      if (event.at("step").get<int>() % 2 == 0)
        norms.push_back(event.at("gradient_norm"));
      else
        CHECK_FALSE(event.contains("gradient_norm"));
    return norms;
  };
  const auto expected = norms_of(alone);
  for (const std::string strategy : all)
    for (const std::string offload : {"none", "optimizer"}) {
      const auto settings = workers(strategy, 4) + Settings{"parallel.offload=" + offload};
      if (offload != "none" && (strategy == "dp" || strategy == "ddp"))
        continue; // their state is not divided
      CAPTURE(strategy, offload);
      const auto measured = experiment.completed(strategy + offload, settings + every_other);
      check_same(measured, experiment.completed(strategy + offload + " plain", settings));
      const auto norms = norms_of(measured);
      REQUIRE(norms.size() == expected.size());
      // In later steps the parameters differ by accumulated rounding.
      for (std::size_t i = 0; i < norms.size(); ++i)
        CHECK(norms[i] == Catch::Approx(expected[i]).epsilon(i == 0 ? 1e-5 : 1e-3));
    }
}

TEST_CASE("a run resumes with another strategy", "[long]") {
  const Experiment experiment({"data.batch_size=12", "train.evaluate_every=1", "checkpoint.keep=9",
                               "checkpoint.every=4 steps"});
  const std::string first = GENERATE("ddp", "zero1", "zero3");
  const std::string second = GENERATE("zero2", "zero3", "dp");
  CAPTURE(first, second);
  const auto whole = experiment.completed("whole", workers("ddp", 3) + Settings{"train.epochs=2"});
  experiment.completed("parts",
                       workers(first, 3) + Settings{"train.epochs=2", "train.max_steps=4"});
  const auto parts = experiment.completed("parts", workers(second, 3) + Settings{"train.epochs=2"});
  check_same(parts, whole);
}

TEST_CASE("values can be sent in a smaller type than they are stored in", "[long]") {
  const Experiment experiment(
      {"model.name=mlp", "data.batch_size=12", "train.max_steps=10", "train.evaluate_every=1"});
  const std::string strategy = GENERATE("ddp", "zero2", "zero3", "hsdp");
  const std::string type = GENERATE("bf16", "fp16");
  CAPTURE(strategy, type);
  const auto count = strategy == "hsdp" ? 4 : 3;
  const auto whole = experiment.completed("whole", workers(strategy, count));
  auto settings = workers(strategy, count) + Settings{"parallel.mixed_precision.reduce=" + type};
  if (strategy == "zero3" || strategy == "hsdp")
    settings.push_back("parallel.mixed_precision.parameters=" + type);
  const auto narrow = experiment.completed("narrow", settings);
  const auto difference = largest_difference(narrow.losses(), whole.losses());
  CHECK(difference > 0);
  CHECK(difference < (type == "bf16" ? 3e-2 : 3e-3));
  const auto bytes = [](const RunFiles& run) { return run.column<double>("collective_bytes")[1]; };
  // ZeRO 2 gathers its parameters without a cast.
  CHECK(bytes(narrow) / bytes(whole) == Catch::Approx(strategy == "zero2" ? 0.75 : 0.5));
}

TEST_CASE("running statistics can be rounded to a smaller type") {
  const Experiment experiment({"data.batch_size=12", "train.max_steps=3"});
  const auto run = experiment.completed(
      "run", workers("ddp", 2) + Settings{"parallel.mixed_precision.buffers=bf16"});
  const auto checkpoint = run.newest_checkpoint();
  int rounded = 0;
  for (const auto& tensor : checkpoint.tensors)
    if (has(tensor.name, ".running_"))
      for (const auto value : tensor.values) {
        CHECK(value == float_from_bf16(bf16_from_float(value)));
        ++rounded;
      }
  CHECK(rounded > 0);
}

TEST_CASE("traffic and memory match ZeRO's formulas", "[long]") {
  constexpr double n = 4;
  const Experiment experiment({"model.name=resnet50", "model.stem=cifar", "data.image_size=16",
                               "data.batch_size=4", "data.eval_batch_size=4",
                               "train.optimizer.name=adam",
                               "train.optimizer.momentum.nesterov=false", "train.max_steps=2",
                               "train.evaluate_every=0", "checkpoint.every=never"});
  struct Row {
    const char* strategy;
    double traffic; // in units of the parameters' bytes, all ranks, per (N-1)
    double parameters, gradients, optimizer; // as a fraction of a whole copy in fp32
  };
  const auto row = GENERATE(Row{"ddp", 2, 1, 1, 2}, Row{"zero1", 2, 1, 1, 2 / n},
                            Row{"zero2", 2, 1, 1 / n, 2 / n}, Row{"zero3", 3, 1 / n, 1 / n, 2 / n});
  CAPTURE(row.strategy);
  const auto run = experiment.completed("run", workers(row.strategy, static_cast<int>(n)));
  constexpr double parameter_bytes = 4 * 23520842; // torchvision's ResNet-50 with 10 classes
  const auto traffic = run.column<double>("collective_bytes")[1] / (parameter_bytes * (n - 1));
  CHECK(traffic == Catch::Approx(row.traffic).epsilon(0.01));
  const auto summary = run.summary();
  for (const auto& worker : summary.at("workers")) {
    const auto held = worker.at("parameter_bytes").get<double>() +
                      worker.at("gradient_bytes").get<double>() +
                      worker.at("optimizer_bytes").get<double>();
    CHECK(held / parameter_bytes ==
          Catch::Approx(row.parameters + row.gradients + row.optimizer).epsilon(0.02));
  }
}
