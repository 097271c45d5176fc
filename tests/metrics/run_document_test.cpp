// Tests the document of a run: its values, and that no input breaks it.
#include "metrics/report/run_document.hpp"
#include "tests/metrics/text.hpp"
#include "tests/support/records.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <limits>

using namespace troupe::metrics;
using namespace troupe::testing;
using Json = nlohmann::json;

namespace {

RunDocument small_document(std::int64_t steps = 30) {
  RunDocument document;
  document.status = "completed";
  document.run = small_run();
  document.history.progress.begin(document.run);
  for (std::int64_t step = 0; step < steps; ++step) {
    document.history.add(small_step(step));
    if (step % 10 == 9)
      document.history.add(small_epoch(step / 10));
  }
  document.workers = {small_worker(0), small_worker(1)};
  return document;
}

Json parsed_document(const RunDocument& document) {
  return Json::parse(to_json(document, {}));
}

} // namespace

TEST_CASE("a document has one column for each value of the steps, all of equal length") {
  const auto document = parsed_document(small_document());
  const auto& steps = document.at("steps");
  CHECK(steps.at("per_point") == 1);
  CHECK(steps.at("from") == 0);
  std::size_t columns = 0;
  for (const auto& [name, column] : steps.items())
    if (column.is_array()) {
      CAPTURE(name);
      CHECK(column.size() == 30);
      ++columns;
    }
  CHECK(columns == 13);
  CHECK(steps.at("step")[7] == 7);
  CHECK(steps.at("loss")[7] == 0.25);
  CHECK(steps.at("loss_low")[7] == 0.25);
  CHECK(steps.at("accuracy")[0] == 0.5);
  CHECK(steps.at("lr")[0] == 0.1);
  CHECK(steps.at("samples_per_second")[0] == 1024);
  CHECK(steps.at("mfu")[0] == 0.02);
  CHECK(steps.at("gradient_norm")[0] == 1.5);
  CHECK(steps.at("loss_scale")[0].is_null());
  CHECK(steps.at("data_wait_ratio")[0] == 0.08);
  CHECK(steps.at("overlap_ratio")[0] == 0.75);
  CHECK(steps.at("epoch")[29] == 2);
  const auto& times = document.at("step_seconds");
  CHECK(times.at("median") == 0.125);
  CHECK(times.at("counts").size() == 40);
  CHECK(document.at("epochs")[2].at("test_accuracy") == 0.625);
}

TEST_CASE("names and texts chosen by the user cannot break the document") {
  auto document = small_document();
  document.run.name = "<b>&\"x\"\n\xff";
  document.error = "</script><script>alert(1)</script>";
  document.config = "a: \"<pre>\\\"\n";
  document.log.add({.time = {}, .level = "info", .text = "\x1b[31m \"quoted\""});
  document.timeline =
      Timeline{.step = 1, .rows = {{"rank \"0\"", "a\\b", {{0, 1, SpanKind::data, "\"\n"}}}}};
  const auto read = parsed_document(document);
  CHECK(read.at("error") == document.error);
  CHECK(read.at("config") == document.config);
  CHECK(read.at("log")[0].at("text") == document.log.records()[0].text);
  CHECK(read.at("timeline").at("rows")[0].at("group") == "rank \"0\"");
  CHECK(read.at("timeline").at("rows")[0].at("spans")[0][3] == "\"\n");
  CHECK(has(read.at("run").at("name").get<std::string>(), "<b>&\"x\"\n"));
}

TEST_CASE("a run that failed before its first step has a document too") {
  RunDocument document;
  document.status = "failed";
  document.error = "data: the file is missing";
  const auto read = parsed_document(document);
  CHECK(read.at("steps").at("loss").empty());
  CHECK(read.at("step_seconds").at("median").is_null());
  CHECK(read.at("progress").at("loss").is_null());
  CHECK(read.at("progress").at("overlap_ratio").is_null());
  CHECK(read.at("run").at("started").is_null());
  CHECK(read.at("checkpoints").at("last_time").is_null());
  CHECK(read.at("workers").empty());
}

TEST_CASE("a loss that becomes nan is a gap in the curve") {
  auto document = small_document(20);
  auto step = small_step(20);
  step.loss = std::numeric_limits<double>::quiet_NaN();
  document.history.add(step);
  step.loss = std::numeric_limits<double>::infinity();
  step.step = 21;
  document.history.add(step);
  const auto read = parsed_document(document);
  for (const char* column : {"loss", "loss_low", "loss_high"}) {
    CHECK(read.at("steps").at(column)[20].is_null());
    CHECK(read.at("steps").at(column)[21].is_null());
    CHECK(read.at("steps").at(column)[19] == 0.1);
  }
  CHECK(read.at("progress").at("loss").is_null());
}

TEST_CASE("steps of an earlier process are in the history, but not in this process's counts") {
  RunDocument document;
  document.run = small_run();
  document.run.first_step = 15;
  document.history.progress.begin(document.run);
  for (std::int64_t step = 0; step < 20; ++step) {
    document.history.add(small_step(step));
    if (step == 9)
      document.history.add(small_epoch(0));
  }
  const auto read = parsed_document(document);
  CHECK(read.at("steps").at("step").size() == 20);
  CHECK(read.at("progress").at("steps") == 20);
  CHECK(read.at("progress").at("samples") == 5 * 128);
  CHECK(read.at("progress").at("seconds") == 5 * 0.125);
  CHECK(read.at("progress").at("test_accuracy") == 0.625);
}
