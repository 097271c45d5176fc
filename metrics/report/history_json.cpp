#include "metrics/report/detail/history_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
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

void append_number(std::string& text, const std::optional<double>& value) {
  append_number(text, value.value_or(std::numeric_limits<double>::quiet_NaN()));
}

/// Appends ","NAME":[...]" with `value` of each point: a member, or a function of it.
template <class Points, class Value>
void append_column(std::string& text, std::string_view name, const Points& points,
                   const Value& value) {
  text += fmt::format(R"(,"{}":[)", name);
  const char* separator = "";
  for (const auto& point : points) {
    text += separator;
    append_number(text, std::invoke(value, point));
    separator = ",";
  }
  text += "]";
}

} // namespace

std::string json_of(const StepHistory& steps, std::size_t from) {
  const auto points = std::span{steps.points()}.subspan(from);
  auto text = fmt::format(R"({{"from":{},"per_point":{})", from, steps.steps_per_point());
  for_each_field<HistoryPoint>(
      [&](const auto& field) { append_column(text, field.name, points, field.member); });
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
  append_column(text, "counts", bins.counts, std::identity{});
  append("median", seconds.quantile(0.5));
  append("p95", seconds.quantile(0.95));
  append("max", seconds.most());
  return text + "}";
}

std::string json_of(const RunCurves& curves) {
  std::string text = fmt::format(R"({{"per_point":{})", curves.steps.steps_per_point());
  const auto& points = curves.steps.points();
  append_column(text, "step", points, &HistoryPoint::step);
  append_column(text, "loss", points, &HistoryPoint::loss);
  append_column(text, "accuracy", points, &HistoryPoint::accuracy);
  append_column(text, "test_step", curves.tests,
                [](const EpochRecord& at) { return at.step.value_or(0); });
  append_column(text, "test_loss", curves.tests, &EpochRecord::test_loss);
  append_column(text, "test_accuracy", curves.tests, &EpochRecord::test_accuracy);
  return text + "}";
}

} // namespace troupe::metrics
