// Tests the comparison table, made from the summaries of runs.
#include "metrics/report/comparison.hpp"
#include "metrics/report/run_folder.hpp"
#include "metrics/report/run_json.hpp"
#include "tests/metrics/text.hpp"
#include "tests/support/records.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <cmath>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;

namespace {

ComparedRun completed(const std::string& strategy, const RunSummary& summary = small_summary()) {
  ComparedRun run{strategy, "fp32"};
  take_summary(run, to_json(summary));
  return run;
}

/// 1,024 sequences of 256 tokens per second, with one of ten tokens right.
RunSummary summary_on_texts() {
  auto summary = small_summary();
  summary.tokens_per_sample = 256;
  summary.test_loss = std::log(10.0);
  summary.accuracy.reset();
  return summary;
}

} // namespace

TEST_CASE("a row contains the figures of its run's summary") {
  const auto summary = small_summary();
  const auto run = completed("ddp");
  CHECK(run.problem.empty());
  CHECK(run.workers == std::ssize(summary.workers));
  CHECK(run.seconds == summary.seconds);
  CHECK(run.samples_per_second == summary.samples_per_second);
  CHECK(run.overlap_ratio == summary.overlap_ratio);
  CHECK(run.accuracy == summary.accuracy);
  std::uint64_t peak = 0;
  double busy = 0;
  for (const auto& worker : summary.workers) {
    peak = std::max(peak, worker.peak_memory_bytes);
    busy += worker.busy_ratio / static_cast<double>(summary.workers.size());
  }
  CHECK(run.peak_memory_bytes == peak);
  CHECK(run.busy_ratio == busy);
}

TEST_CASE("runs on texts have tokens per second and perplexity instead of accuracy") {
  auto unevaluated = summary_on_texts();
  unevaluated.test_loss.reset();
  const Comparison comparison{"small",
                              {completed("ddp", summary_on_texts()),
                               completed("zero1", unevaluated),
                               ComparedRun{"zero3", "fp32", "out of memory"}}};
  const auto table = to_markdown(comparison);
  CHECK(has(
      table,
      "| strategy | precision | workers | time | samples/s | tokens/s | peak memory per "
      "worker | busy | overlap | test perplexity |\n|---|---|---|---|---|---|---|---|---|---|\n"));
  CHECK(
      has(table, "| ddp | fp32 | 2 | 4.5 s | 1,024 | 262,144 | 6.0 MiB | 90.0% | 75.0% | 10.00 |"));
  CHECK(has(table, "| 262,144 | 6.0 MiB | 90.0% | 75.0% | - |\n"));
  CHECK(has(table, "| zero3 | fp32 | out of memory | | | | | | | |\n"));
  const auto rows = nlohmann::json::parse(to_json(comparison, {})).at("runs");
  CHECK(rows[0].at("tokens_per_second") == 262144);
  CHECK(rows[0].at("perplexity").get<double>() == Catch::Approx(10));
  CHECK(rows[0].at("accuracy").is_null());
  CHECK(rows[1].at("perplexity").is_null());
  CHECK(rows[2].at("tokens_per_second").is_null());
}

TEST_CASE("in a mix of runs on texts and images, missing figures are dashes") {
  const auto images = completed("ddp");
  const auto table = to_markdown({"both", {images, completed("zero1", summary_on_texts())}});
  CHECK(has(table, " | overlap | test accuracy | test perplexity |\n"));
  CHECK(has(table, "| ddp | fp32 | 2 | 4.5 s | 1,024 | - | 6.0 MiB | 90.0% | 75.0% | 62.5% | - |"));
  CHECK(has(table, "| 262,144 | 6.0 MiB | 90.0% | 75.0% | - | 10.00 |\n"));
  const auto rows = nlohmann::json::parse(to_json({"images", {images}}, {})).at("runs");
  CHECK((rows[0].at("tokens_per_second").is_null() && rows[0].at("perplexity").is_null()));
  CHECK(has(to_markdown({"images", {images}}),
            "| strategy | precision | workers | time | samples/s | peak memory per worker | busy | "
            "overlap | test accuracy |\n|---|---|---|---|---|---|---|---|---|\n"));
}

TEST_CASE("a loss that was not finite is null, not zero") {
  auto summary = small_summary();
  summary.loss = std::nan("");
  const Comparison comparison{"small", {completed("ddp", summary)}};
  CHECK(nlohmann::json::parse(to_json(comparison, {})).at("runs")[0].at("loss").is_null());
}

TEST_CASE("a run that did not complete is a row with its reason") {
  auto summary = small_summary();
  summary.status = "failed";
  summary.error = "out of memory | rank 1";
  ComparedRun failed{"zero3", "fp32"}, stopped{"zero2", "fp32"}, lost{"zero1", "fp32"};
  take_summary(failed, to_json(summary));
  CHECK(failed.problem == summary.error);
  summary.status = "stopped";
  summary.error.clear();
  take_summary(stopped, to_json(summary));
  CHECK(stopped.problem == "stopped");
  take_summary(lost, "{\"half\":");
  CHECK(has(lost.problem, "no summary"));
  take_summary(lost, R"({"status": 1})");
  CHECK(has(lost.problem, "no summary"));

  const Comparison comparison{"small", {completed("ddp"), failed}};
  const auto table = to_markdown(comparison);
  CHECK(has(table, "\n| ddp | fp32 | 2 | "));
  CHECK(has(table, "| zero3 | fp32 | out of memory / rank 1 |"));
  const auto rows = nlohmann::json::parse(to_json(comparison, {})).at("runs");
  CHECK(rows[0].at("peak_memory_bytes") == comparison.runs[0].peak_memory_bytes);
  CHECK(rows[0].at("problem").is_null());
  CHECK(rows[1].at("problem") == "out of memory | rank 1");
  CHECK(rows[1].at("seconds").is_null());
}

TEST_CASE("a comparison's document describes the machine and links to each run's files") {
  Comparison comparison{"resnet20 on <cifar>", {completed("ddp")}};
  comparison.machine = ComparedMachine{"here", "A Processor", "avx2", 2, 8e9, {"A GPU"}};
  comparison.version = "0.1.0";
  comparison.runs[0].report = "ddp-fp32/report.html";
  const auto document = nlohmann::json::parse(to_json(comparison, {}));
  CHECK(document.at("kind") == "comparison");
  CHECK(document.at("live") == false);
  CHECK(document.at("made") == "1970-01-01T00:00:00.000Z");
  CHECK(document.at("title") == "resnet20 on <cifar>");
  CHECK(document.at("version") == "0.1.0");
  const auto& machine = document.at("machine");
  CHECK(machine.at("processor") == "A Processor");
  CHECK(machine.at("cores") == 2);
  CHECK(machine.at("memory_bytes") == 8e9);
  CHECK(machine.at("gpus") == nlohmann::json{"A GPU"});
  const auto& row = document.at("runs")[0];
  CHECK(row.at("problem").is_null());
  CHECK(row.at("report") == "ddp-fp32/report.html");
  CHECK(row.at("log").is_null());
  CHECK(row.at("accuracy") == 0.625);
}

TEST_CASE("an existing run is a row with its name, figures and curves") {
  const ScratchFolder output;
  auto folder = RunFolder::open(output.path(), small_run(), "").value();
  for (std::int64_t step = 0; step < 15; ++step)
    REQUIRE(folder.append(small_step(step)));
  auto old = small_epoch(0);
  old.step.reset(); // as earlier versions wrote it
  auto untested = small_epoch(1);
  untested.test_loss.reset();
  REQUIRE(folder.append(old));
  REQUIRE(folder.append(untested));

  const auto goes_on = read_compared_run(folder.path()).value();
  CHECK(goes_on.name == "small (running)");
  CHECK(goes_on.job == "resnet20 on cifar10");
  CHECK(goes_on.workers == 2);
  CHECK(goes_on.loss == small_step(14).loss);
  CHECK(goes_on.accuracy == 0.625);
  CHECK_FALSE(goes_on.busy_ratio);
  REQUIRE(goes_on.curves.tests.size() == 1);
  CHECK(goes_on.curves.tests[0].step == 9);

  REQUIRE(folder.write(small_summary()));
  const auto ended = read_compared_run(folder.path()).value();
  CHECK(ended.name == "small");
  CHECK(ended.seconds == small_summary().seconds);
  CHECK(ended.busy_ratio == 0.9);
  CHECK(ended.peak_memory_bytes == 6 << 20);

  const Comparison comparison{.title = "both", .runs = {goes_on, ended}};
  const auto document = nlohmann::json::parse(to_json(comparison, {}));
  CHECK(document.at("machine").is_null());
  const auto& row = document.at("runs")[0];
  CHECK(row.at("name") == "small (running)");
  CHECK((row.at("busy_ratio").is_null() && row.at("peak_memory_bytes").is_null()));
  const auto& curves = row.at("curves");
  CHECK(curves.at("step").size() == 15);
  CHECK(curves.at("loss")[1].get<double>() == Catch::Approx(1));
  CHECK(curves.at("accuracy").size() == 15);
  CHECK(curves.at("test_step") == nlohmann::json{9});
  CHECK(curves.at("test_loss") == nlohmann::json{1.25});
  CHECK(curves.at("test_accuracy") == nlohmann::json{0.625});
  const auto table = to_markdown(comparison);
  CHECK(has(table, "| run | strategy | precision | workers |"));
  CHECK(has(table, "\n| small (running) | ddp | fp32 | 2 | "));
  CHECK(has(table, " | - | - | "));
}

TEST_CASE("a folder that is not a run's or has no steps cannot be compared") {
  const ScratchFolder output;
  CHECK(has(read_compared_run(output / "absent").error().message, "the folder does not exist"));
  CHECK(read_compared_run(output.path()).error().code == Errc::invalid_input);
  const auto folder = RunFolder::open(output.path(), small_run(), "").value();
  CHECK(has(read_compared_run(folder.path()).error().message, "the run has not made a step yet"));
}
