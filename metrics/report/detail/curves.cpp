#include "curves.hpp"

#include "../../readable.hpp"
#include "palette.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace troupe::metrics {

namespace {

/// More cannot be told apart on a screen.
constexpr std::size_t most_points = 500;

/// Groups of neighbouring steps, about equal in size.
template <class Use>
void for_each_bin(const std::vector<StepRecord>& steps, std::size_t bins, Use use) {
  const auto count = std::min(bins, steps.size());
  for (std::size_t i = 0; i < count; ++i)
    use(steps.data() + i * steps.size() / count, steps.data() + (i + 1) * steps.size() / count);
}

double count_from_1(std::int64_t index) {
  return static_cast<double>(index + 1);
}

std::string whole_percent(double ratio) {
  return readable_number(100 * ratio) + "%";
}

/// Every point, or of each bin the lowest and the highest: noise keeps its extent.
std::vector<Point> raw_loss(const std::vector<StepRecord>& steps) {
  std::vector<Point> points;
  for_each_bin(steps, most_points, [&points](const StepRecord* begin, const StepRecord* end) {
    const auto [low, high] = std::minmax_element(
        begin, end, [](const auto& a, const auto& b) { return a.loss < b.loss; });
    for (const auto* step : {std::min(low, high), std::max(low, high)})
      if (points.empty() || points.back().x < count_from_1(step->step))
        points.push_back({count_from_1(step->step), step->loss});
  });
  return points;
}

std::vector<Point> thinned(const std::vector<Point>& all) {
  const auto count = std::min(most_points, all.size());
  std::vector<Point> points;
  for (std::size_t i = 1; i <= count; ++i)
    points.push_back(all[i * all.size() / count - 1]);
  return points;
}

/// Where an epoch ended, in steps.
std::vector<Point> test_loss(const RunHistory& history) {
  std::vector<Point> points;
  for (const auto& epoch : history.epochs) {
    const auto after = std::ranges::upper_bound(history.steps, epoch.epoch, {}, &StepRecord::epoch);
    if (epoch.test_loss && after != history.steps.begin())
      points.push_back({count_from_1(std::prev(after)->step), *epoch.test_loss});
  }
  return points;
}

} // namespace

std::vector<Point> smoothed_loss(const std::vector<StepRecord>& steps) {
  const double weight = 1 / std::clamp(static_cast<double>(steps.size()) / 50, 1.0, 200.0);
  std::vector<Point> points;
  double mean = std::numeric_limits<double>::quiet_NaN();
  for_each_bin(steps, most_points, [&](const StepRecord* begin, const StepRecord* end) {
    for (const auto* step = begin; step != end; ++step)
      if (std::isfinite(step->loss))
        mean = std::isnan(mean) ? step->loss : mean + weight * (step->loss - mean);
    points.push_back({count_from_1(std::prev(end)->step), mean});
  });
  return points;
}

LineChart loss_chart(const RunHistory& history) {
  return {.label = "Loss by step",
          .x_label = "step",
          .series = {{"training, each step", raw_loss(history.steps), 0, Series::Look::faint},
                     {"training, smoothed", smoothed_loss(history.steps), 0, Series::Look::line},
                     {"test", thinned(test_loss(history)), 1, Series::Look::line_with_dots}},
          .y_format = readable_number};
}

LineChart accuracy_chart(const RunHistory& history) {
  Series train{"training", {}, 0, Series::Look::line_with_dots};
  Series test{"test", {}, 1, Series::Look::line_with_dots};
  for (const auto& epoch : history.epochs) {
    if (epoch.train_accuracy)
      train.points.push_back({count_from_1(epoch.epoch), *epoch.train_accuracy});
    if (epoch.test_accuracy)
      test.points.push_back({count_from_1(epoch.epoch), *epoch.test_accuracy});
  }
  train.points = thinned(train.points);
  test.points = thinned(test.points);
  return {.label = "Accuracy by epoch",
          .x_label = "epoch",
          .series = {train, test},
          .y_format = whole_percent};
}

LineChart throughput_chart(const RunHistory& history, const std::string& name) {
  Series series{name + "/s", {}, 2};
  for_each_bin(history.steps, 150, [&series](const StepRecord* begin, const StepRecord* end) {
    double samples = 0, seconds = 0;
    for (const auto* step = begin; step != end; ++step) {
      samples += static_cast<double>(step->samples);
      seconds += step->seconds;
    }
    series.points.push_back({count_from_1(std::prev(end)->step), samples / seconds});
  });
  return {.label = capitalized(name) + " per second by step",
          .x_label = "step",
          .series = {series},
          .y_format = readable_number,
          .from_zero = true};
}

LineChart learning_rate_chart(const RunHistory& history) {
  Series series{"learning rate", {}, 3};
  for_each_bin(history.steps, most_points, [&series](const StepRecord* begin, const StepRecord*) {
    series.points.push_back({count_from_1(begin->step), begin->lr});
  });
  return {.label = "Learning rate by step",
          .x_label = "step",
          .series = {series},
          .y_format = readable_number,
          .from_zero = true};
}

Histogram step_time_chart(const RunHistory& history) {
  Histogram chart{.label = "How long steps took",
                  .x_label = "seconds a step",
                  .values = {},
                  .x_format = readable_number};
  for (const auto& step : history.steps)
    chart.values.push_back(step.seconds);
  return chart;
}

static_assert(memory_kinds <= palette.size(), "two kinds of memory would share a colour");

StackedBars memory_chart(const std::vector<WorkerSummary>& workers) {
  StackedBars chart{
      .label = "Peak memory by kind and worker", .parts = {}, .bars = {}, .format = readable_bytes};
  for (std::size_t kind = 0; kind < memory_kinds; ++kind)
    chart.parts.emplace_back(to_string(static_cast<MemoryKind>(kind)));
  for (const auto& worker : workers) {
    StackedBar bar{"rank " + std::to_string(worker.rank), {}};
    for (const auto bytes : worker.memory.peak)
      bar.parts.push_back(static_cast<double>(bytes));
    chart.bars.push_back(std::move(bar));
  }
  return chart;
}

double step_time_quantile(const std::vector<StepRecord>& steps, double part) {
  std::vector<double> seconds;
  seconds.reserve(steps.size());
  for (const auto& step : steps)
    seconds.push_back(step.seconds);
  if (seconds.empty())
    return std::numeric_limits<double>::quiet_NaN();
  const auto place =
      seconds.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(seconds.size() - 1));
  std::ranges::nth_element(seconds, place);
  return *place;
}

} // namespace troupe::metrics
