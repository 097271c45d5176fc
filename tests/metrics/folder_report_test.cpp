// Tests the report of a run from the files of its folder: of a run that has ended, continues, or
// was killed.
#include "metrics/report/folder_report.hpp"
#include "metrics/report/run_folder.hpp"
#include "metrics/report/run_json.hpp"
#include "tests/metrics/text.hpp"
#include "tests/support/records.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;

namespace {

RunDocument report_of(const std::filesystem::path& folder) {
  auto report = read_report(folder);
  if (!report)
    FAIL(report.error().to_string());
  return *std::move(report);
}

std::string refusal_of(const std::filesystem::path& folder) {
  const auto report = read_report(folder);
  REQUIRE_FALSE(report);
  CHECK(report.error().code == Errc::invalid_input);
  return report.error().message;
}

RunFolder trained_folder(const ScratchFolder& output, std::int64_t steps) {
  auto folder = RunFolder::open(output.path(), small_run(), "run: {name: small}\n").value();
  for (std::int64_t step = 0; step < steps; ++step) {
    REQUIRE(folder.append(small_step(step)));
    if (step % 10 == 9)
      REQUIRE(folder.append(small_epoch(step / 10)));
  }
  return folder;
}

} // namespace

TEST_CASE("a run is running while its files are locked, and interrupted otherwise") {
  const ScratchFolder output;
  {
    const auto folder = trained_folder(output, 25);
    const auto report = report_of(folder.path());
    CHECK(report.status == "running");
    CHECK(report.history.progress.now().steps == 25);
    CHECK(report.history.progress.now().seconds_left);
    CHECK_FALSE(RunFolder::open(output.path(), small_run(), "")); // the folder is still locked
  }
  const auto document = report_of(output / "small");
  CHECK(document.status == "interrupted");
  CHECK(document.run.model == "resnet20");
  CHECK(document.config == "run: {name: small}\n");
  CHECK(document.history.steps.points().size() == 25);
  CHECK(document.history.epochs.epochs().size() == 2);
  CHECK_FALSE(document.history.progress.now().seconds_left);
  CHECK(document.history.progress.now().samples_per_second == 1024);
  CHECK(*document.history.progress.now().mfu == Catch::Approx(0.02));
  CHECK_FALSE(document.checkpoints.written);
  CHECK(document.log.records().empty());
  CHECK(RunFolder::open(output.path(), small_run(), "")); // the report left no lock
}

TEST_CASE("generated samples are read, except damaged lines") {
  const ScratchFolder output;
  {
    auto folder = trained_folder(output, 10);
    for (const std::int64_t steps : {4, 8, 8})
      REQUIRE(folder.append(small_generated(steps)));
  }
  const auto report = report_of(output / "small");
  const auto samples = report.history.generated.records();
  REQUIRE(samples.size() == 2);
  CHECK(samples.back().step == 8);
  CHECK(samples.back().text == small_generated(8).text);
  REQUIRE(report.log.records().size() == 1);
  CHECK(report.log.records().front().text == "1 damaged line of samples.jsonl is left out");
}

TEST_CASE("an ended run has the status of its summary") {
  const ScratchFolder output;
  auto summary = small_summary();
  summary.status = "stopped";
  REQUIRE(trained_folder(output, 30).write(summary));
  const auto document = report_of(output / "small");
  CHECK(document.status == "stopped");
  CHECK(document.history.progress.now().samples_per_second == summary.samples_per_second);
  CHECK(document.history.progress.now().mfu == summary.mfu);
  CHECK(document.history.progress.now().checkpoint_seconds == 0.5);
  CHECK(document.run.operations_per_step == summary.operations_per_step);
  CHECK(document.history.progress.now().parameters_sha256 == summary.parameters_sha256);
  REQUIRE(document.workers.size() == 2);
  CHECK(document.workers[1].memory.peak == summary.workers[1].memory.peak);
  CHECK(document.workers[1].peak_operations == summary.workers[1].peak_operations);
  // A folder of an earlier version, which wrote no run.json.
  std::filesystem::remove(output / "small/run.json");
  CHECK(report_of(output / "small").run.model == "resnet20");
}

TEST_CASE("damaged lines are skipped and counted") {
  const ScratchFolder output;
  trained_folder(output, 10);
  auto text = read_bytes(output / "small/events.jsonl");
  text[text.find("\"step\":5")] = '#';
  text += "nonsense\n" + to_json(small_step(3)) + "\n" + to_json(small_step(10)) + "\n{\"step\":";
  write_bytes(output / "small/events.jsonl", text);
  const auto report = report_of(output / "small");
  CHECK(report.history.steps.points().size() == 10);
  REQUIRE(report.log.records().size() == 1);
  CHECK(report.log.records()[0].text == "3 damaged lines of events.jsonl are left out");
}

TEST_CASE("a folder that is not a run's is refused, and the missing files are named") {
  const ScratchFolder output;
  CHECK(has(refusal_of(output / "missing"), "missing: the folder does not exist"));
  std::filesystem::create_directory(output / "empty");
  const auto why = refusal_of(output / "empty");
  CHECK(has(why, (output / "empty").string()));
  CHECK(has(why, "run.json"));
  CHECK(has(why, "summary.json"));
  write_bytes(output / "empty/run.json", "{");
  refusal_of(output / "empty");
}
