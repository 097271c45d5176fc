// Compares the history of a run in bounded memory with values computed from all records.
#include "metrics/report/run_document.hpp"
#include "metrics/report/run_history.hpp"
#include "tests/support/records.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

using namespace troupe::metrics;
using namespace troupe::testing;
using Catch::Approx;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

std::vector<StepRecord> random_steps(std::int64_t count) {
  std::mt19937 random{7};
  std::lognormal_distribution<double> seconds{-3, 0.5}, loss{0, 1};
  std::vector<StepRecord> steps;
  for (std::int64_t i = 0; i < count; ++i) {
    steps.push_back(small_step(i));
    auto& step = steps.back();
    step.loss = i % 97 == 5 ? not_a_number : loss(random);
    step.seconds = seconds(random);
    step.data_wait_seconds = step.seconds / 8;
    step.gradient_norm = i % 3 == 0 ? std::optional{loss(random)} : std::nullopt;
    step.lr = 1.0 / static_cast<double>(i + 1);
  }
  return steps;
}

/// Checks a point against the records that it summarizes.
void check_point(const HistoryPoint& point, const std::vector<StepRecord>& steps, std::size_t from,
                 std::size_t to) {
  std::vector<double> losses, norms;
  double samples = 0, seconds = 0, waited = 0, rates = 0;
  for (auto i = from; i < to; ++i) {
    if (std::isfinite(steps[i].loss))
      losses.push_back(steps[i].loss);
    if (steps[i].gradient_norm)
      norms.push_back(*steps[i].gradient_norm);
    samples += static_cast<double>(steps[i].samples);
    seconds += steps[i].seconds;
    waited += steps[i].data_wait_seconds;
    rates += steps[i].lr;
  }
  const auto mean = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  CHECK(point.step == steps[from].step);
  CHECK(point.epoch == steps[from].epoch);
  if (losses.empty()) {
    CHECK(std::isnan(point.loss.value()));
    CHECK(std::isnan(point.loss_low));
  } else {
    CHECK(point.loss.value() == Approx(mean(losses)));
    CHECK(point.loss_low == std::ranges::min(losses));
    CHECK(point.loss_high == std::ranges::max(losses));
  }
  CHECK(std::isnan(point.gradient_norm.value()) == norms.empty());
  if (!norms.empty())
    CHECK(point.gradient_norm.value() == Approx(mean(norms)));
  CHECK(point.lr.value() == Approx(rates / static_cast<double>(to - from)));
  CHECK(point.samples_per_second() == Approx(samples / seconds));
  CHECK(point.data_wait_ratio() == Approx(waited / seconds));
  CHECK(point.overlap_ratio() == Approx(0.75));
  CHECK(point.mfu() == Approx(0.02));
  CHECK(std::isnan(point.loss_scale.value()));
}

} // namespace

TEST_CASE("each point is the mean of equally many steps, except the last") {
  const auto count = GENERATE(1, 599, 600, 601, 1200, 1201, 12'345);
  CAPTURE(count);
  const auto steps = random_steps(count);
  StepHistory history;
  for (const auto& step : steps)
    history.add(step);
  const auto& points = history.points();
  REQUIRE(points.size() <= StepHistory::most_points);
  const auto each = static_cast<std::size_t>(history.steps_per_point());
  REQUIRE(points.size() == (steps.size() + each - 1) / each);
  CHECK((each == 1 || points.size() > StepHistory::most_points / 2));
  for (std::size_t i = 0; i < points.size(); ++i)
    check_point(points[i], steps, i * each, std::min(steps.size(), (i + 1) * each));
}

TEST_CASE("add returns the first point that has changed") {
  StepHistory history;
  std::vector<HistoryPoint> kept;
  for (const auto& step : random_steps(3000)) {
    const auto from = history.add(step);
    REQUIRE(from <= kept.size());
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(from), kept.end());
    kept.insert(kept.end(), history.points().begin() + static_cast<std::ptrdiff_t>(from),
                history.points().end());
    REQUIRE(kept.size() == history.points().size());
    REQUIRE(std::ranges::equal(kept, history.points(), [](const auto& a, const auto& b) {
      return a.step == b.step && a.samples == b.samples && a.seconds == b.seconds;
    }));
  }
}

TEST_CASE("extremes of a long run are kept") {
  StepHistory history;
  for (std::int64_t i = 0; i < 100'000; ++i) {
    auto step = small_step(i);
    step.loss = i == 54'321 ? 9 : 1;
    history.add(step);
  }
  double highest = 0;
  for (const auto& point : history.points())
    highest = std::max(highest, point.loss_high);
  CHECK(highest == 9);
}

TEST_CASE("quantiles of step times are exact within one part in a thousand") {
  DurationHistogram histogram;
  std::vector<double> all;
  for (const auto& step : random_steps(20'000)) {
    histogram.add(step.seconds);
    all.push_back(step.seconds);
  }
  std::ranges::sort(all);
  for (const double part : {0.0, 0.1, 0.5, 0.95, 0.999})
    CHECK(histogram.quantile(part) ==
          Approx(all[static_cast<std::size_t>(part * static_cast<double>(all.size() - 1))])
              .epsilon(0.001));
  CHECK(histogram.quantile(1) == all.back());
  CHECK(histogram.most() == all.back());

  const auto bins = histogram.bins();
  CHECK(bins.low == all.front());
  const auto width = (bins.high - bins.low) / DurationHistogram::even_bins;
  double before = 0;
  for (std::size_t i = 0; i < bins.counts.size(); ++i) {
    before += static_cast<double>(bins.counts[i]);
    const auto end = bins.low + width * static_cast<double>(i + 1);
    const auto below = std::ranges::lower_bound(all, end) - all.begin();
    CHECK(before ==
          Approx(static_cast<double>(below)).margin(40)); // the contents of one narrow bin
  }
}

TEST_CASE("one slow step does not compress the distribution of the others") {
  DurationHistogram histogram;
  for (int i = 0; i < 200; ++i)
    histogram.add(0.1 + 0.0001 * i);
  histogram.add(60);
  const auto bins = histogram.bins();
  CHECK(bins.high < 0.2);
  CHECK(std::accumulate(bins.counts.begin(), bins.counts.end(), std::int64_t{0}) == 200);
  CHECK(std::ranges::count_if(bins.counts, [](auto count) { return count > 0; }) > 4);
  CHECK(histogram.most() == 60);
}

TEST_CASE("a distribution of no times or of one time is valid") {
  DurationHistogram histogram;
  histogram.add(not_a_number);
  histogram.add(0);
  histogram.add(-1);
  CHECK(histogram.count() == 0);
  CHECK(std::isnan(histogram.quantile(0.5)));
  CHECK(std::isnan(histogram.bins().low));
  for (int i = 0; i < 10; ++i)
    histogram.add(0.125);
  CHECK(histogram.quantile(0.5) == 0.125);
  const auto bins = histogram.bins();
  CHECK(bins.low < bins.high);
  CHECK(std::accumulate(bins.counts.begin(), bins.counts.end(), std::int64_t{0}) == 10);
}

TEST_CASE("a long run keeps an evenly spaced selection of epochs, including the last one") {
  for (const std::int64_t count : {1, 3, 599, 600, 601, 4000}) {
    CAPTURE(count);
    EpochHistory history;
    for (std::int64_t epoch = 0; epoch < count; ++epoch)
      history.add(small_epoch(epoch));
    const auto epochs = history.epochs();
    CHECK(std::ssize(epochs) <= std::min<std::int64_t>(count, EpochHistory::most_epochs));
    CHECK(std::ssize(epochs) >= std::min<std::int64_t>(count, EpochHistory::most_epochs / 2));
    CHECK(epochs.front().epoch == 0);
    CHECK(epochs.back().epoch == count - 1);
    for (std::size_t i = 2; i + 1 < epochs.size(); ++i)
      CHECK(epochs[i].epoch - epochs[i - 1].epoch == epochs[1].epoch);
  }
}

TEST_CASE("a document of a million steps is as large as one of a thousand") {
  RunDocument document;
  document.run = small_run();
  document.run.total_steps = 1'000'000;
  document.history.progress.begin(document.run);
  std::size_t after_a_thousand = 0;
  for (std::int64_t i = 0; i < 1'000'000; ++i) {
    auto step = small_step(i);
    step.seconds = 1e-4 * static_cast<double>(1 + i % 7);
    document.history.add(step);
    if (i % 100 == 99)
      document.history.add(small_epoch(i / 100));
    if (i == 999)
      after_a_thousand = to_json(document, {}).size();
  }
  CHECK(document.history.steps.points().size() <= 600);
  CHECK(document.history.epochs.epochs().size() <= 600);
  CHECK(document.history.progress.now().steps == 1'000'000);
  CHECK(document.history.progress.now().samples == 128'000'000);
  const auto text = to_json(document, {});
  CHECK(text.size() < 250'000);
  CHECK(text.size() < 4 * after_a_thousand);
}
