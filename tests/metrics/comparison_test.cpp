// The table of a comparison, from the summaries of its runs.
#include "records.hpp"
#include "text.hpp"

#include "troupe/metrics/report/comparison.hpp"
#include "troupe/metrics/report/run_json.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

using namespace troupe::metrics;
using namespace troupe::testing;

namespace {

ComparedRun completed(const std::string& strategy) {
  ComparedRun run{strategy, "fp32"};
  take_summary(run, to_json(small_summary()));
  return run;
}

} // namespace

TEST_CASE("a row has the figures of its run's summary") {
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

  const Comparison comparison{"small", {completed("ddp"), failed}};
  const auto table = to_markdown(comparison);
  CHECK(has(table, "\n| ddp | fp32 | 2 | "));
  CHECK(has(table, "| zero3 | fp32 | out of memory / rank 1 |"));
  const auto rows = nlohmann::json::parse(to_json(comparison)).at("runs");
  CHECK(rows[0].at("peak_memory_bytes") == comparison.runs[0].peak_memory_bytes);
  CHECK_FALSE(rows[0].contains("problem"));
  CHECK(rows[1].at("problem") == "out of memory | rank 1");
  CHECK_FALSE(rows[1].contains("seconds"));
}

TEST_CASE("the page has a bar for every run that completed, and asks for nothing else") {
  ComparedRun failed{"<zero3>", "fp32", "it & died"};
  const auto page =
      to_html({"resnet20 on <cifar>", {completed("ddp"), completed("zero1"), failed}});
  std::size_t bars = 0;
  for (auto at = page.find("<rect"); at != std::string::npos; at = page.find("<rect", at + 1))
    ++bars;
  CHECK(bars == 2 * 6);
  CHECK(has(page, "<h1>resnet20 on &lt;cifar&gt;</h1>"));
  CHECK(has(page, "it &amp; died"));
  CHECK_FALSE(has(page, "<zero3>"));
  for (const char* outside : {"http://", "https://", "<script", "<link", "<img", "url("})
    CHECK_FALSE(has(page, outside));
}
