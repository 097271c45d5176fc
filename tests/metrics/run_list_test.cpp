// Tests the list of runs, and the best epoch of each.
#include "metrics/report/run_folder.hpp"
#include "metrics/report/run_state.hpp"
#include "tests/support/checkpoint_files.hpp"
#include "tests/support/nested_json.hpp"
#include "tests/support/records.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fstream>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

RunFolder begun(const ScratchFolder& output, const std::string& name, std::chrono::hours after) {
  auto run = small_run();
  run.name = name;
  run.started += after;
  return RunFolder::open(output.path(), run, "run: {}\n").value();
}

EpochRecord evaluated(std::int64_t epoch, std::optional<double> accuracy, double loss) {
  auto record = small_epoch(epoch);
  record.test_accuracy = accuracy;
  record.test_loss = loss;
  return record;
}

} // namespace

TEST_CASE("runs are listed with their state, the most recently started one first") {
  const ScratchFolder output;
  std::ofstream{output / "notes.txt"} << "no run";
  std::filesystem::create_directories(output / "empty");
  begun(output, "killed", 1h);
  const auto running = begun(output, "running", 3h);
  auto ended = begun(output, "ended", 2h);
  REQUIRE(ended.append(evaluated(0, 0.25, 2)));
  RunSummary summary{small_run()};
  summary.status = "stopped";
  REQUIRE(ended.write(summary));

  const auto runs = list_runs(output.path());
  REQUIRE(runs);
  REQUIRE(runs->size() == 3);
  CHECK(runs->at(0).folder == output / "running");
  CHECK(runs->at(0).status == "running");
  CHECK_FALSE(runs->at(0).best);
  CHECK(runs->at(1).folder == output / "ended");
  CHECK(runs->at(1).status == "stopped");
  CHECK(runs->at(1).best->test_accuracy == 0.25);
  CHECK(runs->at(1).info.model == "resnet20");
  CHECK(runs->at(2).folder == output / "killed");
  CHECK(runs->at(2).status == "interrupted");
}

TEST_CASE("a run with a run.json nested 100,000 deep is not listed, and the others are") {
  const ScratchFolder output;
  begun(output, "sound", 1h);
  begun(output, "nested", 2h);
  write_bytes(output / "nested/run.json",
              "{\"total_steps\":1,\"recompute\":" + deeply_nested() + "}");
  const auto runs = list_runs(output.path());
  REQUIRE(runs);
  REQUIRE(runs->size() == 1);
  CHECK(runs->front().folder == output / "sound");
}

TEST_CASE("a folder of runs that does not exist is refused") {
  const ScratchFolder output;
  const auto runs = list_runs(output / "missing");
  REQUIRE_FALSE(runs);
  CHECK(runs.error().code == Errc::invalid_input);
  CHECK(runs.error().message == (output / "missing").string() + ": the folder does not exist");
}

TEST_CASE("the best epoch has the highest test accuracy, or the lowest test loss") {
  const ScratchFolder output;
  auto run = begun(output, "small", 0h);
  REQUIRE(run.append(evaluated(0, 0.5, 3)));
  auto unevaluated = small_epoch(1);
  unevaluated.test_loss = unevaluated.test_accuracy = std::nullopt;
  REQUIRE(run.append(unevaluated));
  REQUIRE(run.append(evaluated(2, 0.75, 2)));
  REQUIRE(run.append(evaluated(3, 0.75, 1)));
  REQUIRE(run.append(evaluated(4, 0.25, 4)));
  CHECK(read_best_epoch(output / "small")->epoch == 2);
  CHECK(read_best_epoch(output / "small", BestBy::loss)->epoch == 3);
}

TEST_CASE("the best epoch is described with its checkpoint if that was kept") {
  const ScratchFolder output;
  const auto folder = output / "small";
  CHECK(describe_best(folder, small_run(), BestBy::accuracy).empty());
  auto run = begun(output, "small", 0h);
  REQUIRE(run.append(evaluated(0, 0.25, 1)));
  REQUIRE(run.append(evaluated(1, 0.75, 2)));
  CHECK(describe_best(folder, small_run(), BestBy::accuracy) ==
        "best: epoch 2, test accuracy 75.0%, its checkpoint was not kept (see checkpoint.best)");
  const auto kept =
      save(CheckpointStore{folder / "checkpoints"}, {.step = 20, .metadata = {}, .tensors = {}});
  REQUIRE(kept);
  CHECK(describe_best(folder, small_run(), BestBy::accuracy) ==
        "best: epoch 2, test accuracy 75.0%, checkpoint " + kept->path.string());
  CHECK(describe_best(folder, small_run(), BestBy::loss) ==
        "best: epoch 1, test loss 1.0000, its checkpoint was not kept (see checkpoint.best)");
}

TEST_CASE("epochs without accuracies are compared by loss") {
  const ScratchFolder output;
  auto run = begun(output, "small", 0h);
  CHECK_FALSE(read_best_epoch(output / "small"));
  for (const double loss : {3, 1, 2})
    REQUIRE(run.append(evaluated(static_cast<std::int64_t>(3 - loss), std::nullopt, loss)));
  CHECK(read_best_epoch(output / "small")->epoch == 2);
}
