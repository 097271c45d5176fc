#include "records.hpp"
#include "text.hpp"

#include "troupe/metrics/readable.hpp"
#include "troupe/metrics/report/detail/axis.hpp"
#include "troupe/metrics/report/detail/charts.hpp"
#include "troupe/metrics/report/detail/curves.hpp"
#include "troupe/metrics/report/detail/html_report.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <limits>
#include <string>
#include <vector>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

} // namespace

TEST_CASE("the report is one file with all charts, and asks for nothing else") {
  const auto page = html_report({small_summary(), small_history(), "run: {name: small}"});
  CHECK(count(page, "<svg") == 6);
  CHECK(count(page, "</svg>") == 6);
  CHECK(count(page, "<section") == count(page, "</section>"));
  for (const char* outside : {"http://", "https://", "<script", "<link", "<img", "@import", "url("})
    CHECK_FALSE(has(page, outside));
  CHECK(has(page, "62.5%"));
  CHECK(has(page, "1,024"));
  CHECK(has(page, "prefers-color-scheme: dark"));
}

TEST_CASE("names and config of the user cannot break the page") {
  auto summary = small_summary();
  summary.name = "<b>&\"x\"";
  summary.error = "<script>alert(1)</script>";
  const auto page = html_report({summary, small_history(), "a: <pre>"});
  CHECK_FALSE(has(page, "<script"));
  CHECK_FALSE(has(page, "<b>"));
  CHECK(has(page, "&lt;b&gt;&amp;&quot;x&quot;"));
  CHECK(has(page, "a: &lt;pre&gt;"));
}

TEST_CASE("a run that failed before its first step has a report too") {
  auto summary = small_summary();
  summary.status = "failed";
  summary.error = "data: the file is missing";
  summary.accuracy.reset();
  summary.workers.clear();
  const auto page = html_report({summary, {}, ""});
  CHECK(count(page, "no values") == 6);
  CHECK(has(page, "data: the file is missing"));
  CHECK_FALSE(has(page, "nan"));
}

TEST_CASE("a loss that becomes nan leaves a gap and no broken drawing") {
  auto history = small_history();
  for (std::size_t i = 20; i < 30; ++i)
    history.steps[i].loss = not_a_number;
  const auto drawing = svg(loss_chart(history));
  CHECK(has(drawing, "<svg"));
  CHECK_FALSE(has(drawing, "nan"));
  CHECK_FALSE(has(drawing, "inf"));
}

TEST_CASE("a long run is drawn with few points that keep its extremes") {
  RunHistory history = small_history(100'000);
  for (auto& step : history.steps)
    step.loss = 1;
  history.steps[54'321].loss = 9;
  const auto chart = loss_chart(history);
  CHECK(chart.series[0].points.size() <= 1000);
  CHECK(chart.series[1].points.size() <= 500);
  double highest = 0;
  for (const auto& point : chart.series[0].points)
    highest = std::max(highest, point.y);
  CHECK(highest == 9);
  CHECK(svg(chart).size() < 50'000);
}

TEST_CASE("the smoothed loss follows a level and forgets noise") {
  std::vector<StepRecord> steps;
  for (std::int64_t i = 0; i < 1000; ++i) {
    steps.push_back(small_step(i));
    steps.back().loss = i % 2 == 0 ? 0 : 2;
  }
  const auto points = smoothed_loss(steps);
  CHECK(points.back().y == Catch::Approx(1).epsilon(0.06));
  CHECK(points.back().x == 1000);
}

TEST_CASE("one slow step does not squeeze the distribution of the others") {
  auto history = small_history(200);
  history.steps[0].seconds = 60;
  CHECK_FALSE(has(svg(step_time_chart(history)), ">60<"));
  CHECK(step_time_quantile(history.steps, 0.5) == 0.125);
  CHECK(step_time_quantile(history.steps, 1) == 60);
}

TEST_CASE("axes have round ends and round ticks") {
  const auto axis = round_axis(0.13, 2.31, 5, 0, 100);
  CHECK(axis.low == 0);
  CHECK(axis.high == Catch::Approx(2.5));
  CHECK(ticks(axis, 5).size() == 6);
  CHECK(ticks(Axis{1, 3, 0, 1}, 7, true) == std::vector<double>{1, 2, 3});
  const auto flat = round_axis(5, 5, 5, 0, 1);
  CHECK(flat.low < 5);
  CHECK(flat.high > 5);
}

TEST_CASE("numbers are written as people read them") {
  CHECK(readable_count(1234567) == "1,234,567");
  CHECK(readable_count(-1000) == "-1,000");
  CHECK(readable_count(999) == "999");
  CHECK(readable_loss(1.23456) == "1.2346");
  CHECK(readable_loss(0.00012345) == "0.000123");
  CHECK(readable_loss(not_a_number) == "nan");
  CHECK(readable_rate(12.34) == "12.3");
  CHECK(readable_rate(12480.4) == "12,480");
  CHECK(readable_bytes(512) == "512 B");
  CHECK(readable_bytes(1536.0 * 1024 * 1024) == "1.5 GiB");
  CHECK(readable_seconds(0.0123) == "12.3 ms");
  CHECK(readable_seconds(750) == "12 min 30 s");
  CHECK(readable_seconds(3900) == "1 h 05 min");
  CHECK(readable_clock(45) == "0:45");
  CHECK(readable_clock(3723) == "1:02:03");
  CHECK(readable_clock(not_a_number) == "-:--");
}
