#include "../readable.hpp"
#include "comparison.hpp"
#include "detail/charts.hpp"
#include "detail/html_page.hpp"

#include <fmt/format.h>

namespace troupe::metrics {

namespace {

std::string name_of(const ComparedRun& run) {
  return run.strategy + " " + run.precision;
}

/// One figure of all rows that have any.
std::string bars(const Comparison& comparison, std::string_view title, const Format& format,
                 double (*value)(const ComparedRun&)) {
  StackedBars chart{.label = std::string{title},
                    .parts = {std::string{title}},
                    .bars = {},
                    .format = format,
                    .name_width = 140};
  for (const auto& run : comparison.runs)
    if (run.problem.empty())
      chart.bars.push_back({name_of(run), {value(run)}});
  return html_section(title, svg(chart));
}

std::string charts(const Comparison& comparison) {
  return bars(comparison, "Samples per second", readable_rate,
              [](const ComparedRun& run) { return run.samples_per_second; }) +
         bars(comparison, "Peak memory per worker", readable_bytes,
              [](const ComparedRun& run) { return static_cast<double>(run.peak_memory_bytes); }) +
         bars(comparison, "Test accuracy", readable_percent,
              [](const ComparedRun& run) { return run.accuracy.value_or(0); }) +
         bars(comparison, "Time", readable_seconds,
              [](const ComparedRun& run) { return run.seconds; }) +
         bars(comparison, "Device busy", readable_percent,
              [](const ComparedRun& run) { return run.busy_ratio; }) +
         bars(comparison, "Collectives beside compute", readable_percent,
              [](const ComparedRun& run) { return run.overlap_ratio; });
}

std::vector<std::string> cells(const ComparedRun& run) {
  return {run.strategy,
          run.precision,
          fmt::format("{}", run.workers),
          readable_seconds(run.seconds),
          readable_rate(run.samples_per_second),
          readable_bytes(static_cast<double>(run.peak_memory_bytes)),
          readable_percent(run.busy_ratio),
          run.workers > 1 ? readable_percent(run.overlap_ratio) : "–",
          run.accuracy ? readable_percent(*run.accuracy) : "–"};
}

/// Reasons are long: they have a table of their own.
std::string tables(const Comparison& comparison) {
  std::vector<std::vector<std::string>> rows, reasons;
  for (const auto& run : comparison.runs)
    if (run.problem.empty())
      rows.push_back(cells(run));
    else
      reasons.push_back({name_of(run), run.problem});
  auto text = html_section("Runs",
                           html_table("workers",
                                      {"Strategy", "Precision", "Workers", "Time", "Samples/s",
                                       "Peak memory", "Busy", "Overlap", "Accuracy"},
                                      rows),
                           {}, true);
  if (!reasons.empty())
    text +=
        html_section("Without figures", html_table("facts", {"Mode", "Why"}, reasons), {}, true);
  return text;
}

} // namespace

std::string to_html(const Comparison& comparison) {
  return html_page(comparison.title,
                   fmt::format("<h1>{}</h1>\n<p class=\"about\">the same job in {} modes</p>\n"
                               "<div class=\"grid\">\n{}{}</div>\n",
                               escaped(comparison.title), comparison.runs.size(),
                               tables(comparison), charts(comparison)));
}

} // namespace troupe::metrics
