// Tests model FLOPs utilization: the model's operations as a fraction of the devices' peak.
#include "metrics/console/detail/progress.hpp"
#include "metrics/number_format.hpp"
#include "metrics/report/run_json.hpp"
#include "metrics/report/run_progress.hpp"
#include "metrics/report/step_history.hpp"
#include "metrics/step_sums.hpp"
#include "tests/support/records.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cmath>

using namespace troupe::metrics;
using namespace troupe::testing;
using Catch::Approx;

namespace {

StepRecord step_of(double seconds, std::optional<double> mfu) {
  auto step = small_step(0);
  step.seconds = seconds;
  step.mfu = mfu;
  return step;
}

} // namespace

TEST_CASE("the MFU of several steps is weighted by their time") {
  StepSums sums;
  RecentSteps recent;
  RunProgress progress;
  HistoryPoint point{step_of(1, 0.5)};
  point.add(HistoryPoint{step_of(3, 0.1)});
  for (const auto& step : {step_of(1, 0.5), step_of(3, 0.1)}) {
    sums.add(step);
    recent.add(step);
    progress.add(step);
  }
  progress.stop();
  CHECK(*sums.mfu() == Approx(0.2));
  CHECK(point.mfu() == Approx(0.2));
  CHECK(*progress.now().mfu == Approx(0.2));
  CHECK(*recent.mfu() < 0.2); // the first step has less weight
  CHECK(*recent.mfu() > 0.15);
}

TEST_CASE("MFU is shown with operations per second") {
  auto run = small_run(); // 5e9 operations per step, steps of 0.125 s
  RecentSteps recent;
  recent.add(small_step(0));
  CHECK(progress_line(progress_after(run, small_step(0), recent)).find("MFU 2.0%, 40 GFLOP/s") !=
        std::string::npos);
  run.operations_per_step = 5e12;
  CHECK(progress_line(progress_after(run, small_step(0), recent)).find("MFU 2.0%, 40 TFLOP/s") !=
        std::string::npos);
}

TEST_CASE("an MFU above 100% is shown without a number and with possible reasons") {
  const std::string reasons = " (Winograd, or peak measured too low)";
  CHECK(format_mfu(1.532) == "above 100%" + reasons);
  CHECK(format_mfu(1) == "100.0%");
  RecentSteps recent;
  recent.add(step_of(0.125, 1.532));
  const auto progress = progress_after(small_run(), small_step(0), recent);
  CHECK(progress_line(progress).find("MFU above 100%" + reasons) != std::string::npos);
  for (int width = 20; width < 250; ++width) {
    const auto bar = progress_bar(progress, width);
    CHECK(bar.find("153.2%") == std::string::npos);
    CHECK((bar.find("above 100%") == std::string::npos || bar.find(reasons) != std::string::npos));
  }
}

TEST_CASE("without a known peak no MFU is reported") {
  const auto unknown = step_of(1, std::nullopt);
  StepSums sums;
  RunProgress progress;
  CHECK_FALSE(sums.mfu()); // no step yet
  for (const auto& step : {step_of(1, 0.5), unknown}) {
    sums.add(step);
    progress.add(step);
  }
  CHECK_FALSE(sums.mfu());
  CHECK_FALSE(progress.now().mfu);
  CHECK(std::isnan(HistoryPoint{unknown}.mfu()));
  CHECK(to_json(unknown).find("mfu") == std::string::npos);
  CHECK_FALSE(parse_step(to_json(unknown)).value().mfu);
  RecentSteps recent;
  recent.add(unknown);
  CHECK(progress_line(progress_after(small_run(), unknown, recent)).find("MFU") ==
        std::string::npos);
}
