#include "metrics/report/detail/history_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <span>

namespace troupe::metrics {

namespace {

void append_number(std::string& text, double value) {
  if (std::isfinite(value))
    fmt::format_to(std::back_inserter(text), "{:.7g}", value);
  else
    text += "null";
}

void append_number(std::string& text, std::int64_t value) {
  fmt::format_to(std::back_inserter(text), "{}", value);
}

void append_number(std::string& text, const Mean& mean) {
  append_number(text, mean.value());
}

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// Appends ","NAME":[...]" with `value` of each point.
template <class Points, class Value>
void append_column(std::string& text, std::string_view name, const Points& points,
                   const Value& value) {
  text += fmt::format(R"(,"{}":[)", name);
  const char* separator = "";
  for (const auto& point : points) {
    text += separator;
    append_number(text, value(point));
    separator = ",";
  }
  text += "]";
}

} // namespace

std::string json_of(const StepHistory& steps, std::size_t from) {
  const auto points = std::span{steps.points()}.subspan(from);
  auto text = fmt::format(R"({{"from":{},"per_point":{})", from, steps.steps_per_point());
  for_each_field<HistoryPoint>([&](const auto& field) {
    append_column(text, field.name, points,
                  [&](const HistoryPoint& at) { return std::invoke(field.member, at); });
  });
  return text + "}";
}

std::string json_of(const DurationHistogram& seconds) {
  const auto bins = seconds.bins();
  std::string text;
  const auto append = [&text](std::string_view name, double value) {
    text += fmt::format(R"({}"{}":)", text.empty() ? "{" : ",", name);
    append_number(text, value);
  };
  append("low", bins.low);
  append("high", bins.high);
  text += R"(,"counts":[)";
  const char* separator = "";
  for (const auto count : bins.counts) {
    text += separator;
    append_number(text, count);
    separator = ",";
  }
  text += "]";
  append("median", seconds.quantile(0.5));
  append("p95", seconds.quantile(0.95));
  append("max", seconds.most());
  return text + "}";
}

std::string json_of(const RunCurves& curves) {
  std::string text = fmt::format(R"({{"per_point":{})", curves.steps.steps_per_point());
  const auto of_steps = [&](std::string_view name, const auto& value) {
    append_column(text, name, curves.steps.points(), value);
  };
  const auto of_tests = [&](std::string_view name, const auto& value) {
    append_column(text, name, curves.tests, value);
  };
  of_steps("step", [](const HistoryPoint& at) { return at.step; });
  of_steps("loss", [](const HistoryPoint& at) { return at.loss; });
  of_steps("accuracy", [](const HistoryPoint& at) { return at.accuracy; });
  of_tests("test_step", [](const EpochRecord& at) { return at.step.value_or(0); });
  of_tests("test_loss", [](const EpochRecord& at) { return at.test_loss.value_or(unknown); });
  of_tests("test_accuracy",
           [](const EpochRecord& at) { return at.test_accuracy.value_or(unknown); });
  return text + "}";
}

} // namespace troupe::metrics
