#include "charts.hpp"

#include "axis.hpp"
#include "palette.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <string_view>

namespace troupe::metrics {

namespace {

// In the units of the drawing's view box.
constexpr double width = 640, height = 280;
constexpr double left = 58, right = 14, top = 14, bottom = 40;

class Drawing {
public:
  explicit Drawing(const std::string& label, double tall = height) {
    add(R"(<svg viewBox="0 0 {} {}" role="img" aria-label="{}">)", width, tall, escaped(label));
  }

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  void text(double x, double y, std::string_view anchor, std::string_view content) {
    add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", x, y, anchor,
        escaped(content));
  }

  void horizontal_lines(const Axis& y, const Format& format) {
    for (const double value : ticks(y, 5)) {
      add(R"(<path class="rule" d="M{} {:.1f}H{}"/>)", left, y.at(value), width - right);
      text(left - 8, y.at(value) + 4, "end", format(value));
    }
  }

  void x_labels(const Axis& x, bool whole, const Format& format, std::string_view label) {
    add(R"(<path class="axis" d="M{} {}H{}"/>)", left, height - bottom, width - right);
    for (const double value : ticks(x, 7, whole))
      text(x.at(value), height - bottom + 16, "middle", format(value));
    text((left + width - right) / 2, height - 6, "middle", label);
  }

  std::string take() { return std::move(text_) + "</svg>"; }

private:
  std::string text_;
};

/// Names, and the classes of their colours.
using Legend = std::vector<std::pair<std::string, std::string>>;

std::string legend(const Legend& entries) {
  std::string text = "<p class=\"legend\">";
  for (const auto& [name, classes] : entries)
    text += fmt::format(R"(<span><i class="{}"></i>{}</span>)", classes, escaped(name));
  return text + "</p>";
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

std::string classes_of(const Series& series) {
  const auto* const look = series.look == Series::Look::faint ? "faint " : "line ";
  return look + color_class(series.color);
}

/// Gaps where values are missing or not finite.
std::string path(const std::vector<Point>& points, const Axis& x, const Axis& y) {
  std::string d;
  char command = 'M';
  for (const auto& point : points) {
    if (!std::isfinite(point.y)) {
      command = 'M';
      continue;
    }
    fmt::format_to(std::back_inserter(d), "{}{:.1f} {:.1f}", command, x.at(point.x), y.at(point.y));
    command = 'L';
  }
  return d;
}

void draw(Drawing& drawing, const Series& series, const LineChart& chart, const Axis& x,
          const Axis& y) {
  drawing.add(R"(<path class="{}" d="{}"/>)", classes_of(series), path(series.points, x, y));
  const bool lonely = series.points.size() == 1; // a line of one point is invisible
  const bool dotted = series.look == Series::Look::line_with_dots && series.points.size() <= 100;
  if (!dotted && !lonely)
    return;
  for (const auto& point : series.points)
    if (std::isfinite(point.y))
      drawing.add(
          R"(<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="3"><title>{}: {} ({} {})</title></circle>)",
          color_class(series.color), x.at(point.x), y.at(point.y), escaped(series.name),
          escaped(chart.y_format(point.y)), escaped(chart.x_label), point.x);
}

} // namespace

std::string svg(const LineChart& chart) {
  Range xs, ys;
  for (const auto& series : chart.series)
    for (const auto& point : series.points)
      if (std::isfinite(point.y)) {
        xs.include(point.x);
        ys.include(point.y);
      }
  if (ys.high < ys.low)
    return "<p class=\"empty\">no values</p>";
  if (chart.from_zero)
    ys.include(0);
  // One value stands in the middle.
  const double half = xs.high > xs.low ? 0 : 0.5;
  const Axis x{xs.low - half, xs.high + half, left, width - right};
  const auto y = round_axis(ys.low, ys.high, 5, height - bottom, top);
  Drawing drawing(chart.label);
  drawing.horizontal_lines(y, chart.y_format);
  drawing.x_labels(
      x, chart.whole_x, [](double value) { return fmt::format("{:.6g}", value); }, chart.x_label);
  Legend entries;
  for (const auto& series : chart.series) {
    draw(drawing, series, chart, x, y);
    if (!series.points.empty())
      entries.emplace_back(series.name, classes_of(series));
  }
  return drawing.take() + (entries.size() > 1 ? legend(entries) : "");
}

std::string svg(const Histogram& chart) {
  auto values = chart.values;
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty())
    return "<p class=\"empty\">no values</p>";
  std::ranges::sort(values);
  // A single slow step (the first) must not squeeze all others into one bar.
  const double low = values.front(), high = values[(values.size() - 1) * 99 / 100];
  const auto x = round_axis(low, high, 8, left, width - right);
  constexpr std::size_t bins = 40;
  std::vector<double> counts(bins, 0);
  for (const double value : values) {
    const auto bin = (value - x.low) / (x.high - x.low) * bins;
    counts[std::min(bins - 1, static_cast<std::size_t>(std::max(0.0, bin)))] += 1;
  }
  const auto y = round_axis(0, *std::ranges::max_element(counts), 5, height - bottom, top);
  Drawing drawing(chart.label);
  drawing.horizontal_lines(y, [](double value) { return fmt::format("{:.6g}", value); });
  const double step = (width - left - right) / bins;
  for (std::size_t i = 0; i < bins; ++i)
    if (counts[i] > 0)
      drawing.add(
          R"(<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}: {}{}</title></rect>)",
          color_class(0), left + step * static_cast<double>(i) + 0.5, y.at(counts[i]), step - 1,
          y.at(0) - y.at(counts[i]),
          escaped(chart.x_format(x.low + (x.high - x.low) * static_cast<double>(i) / bins)),
          counts[i], i + 1 == bins ? " (with all longer ones)" : "");
  drawing.x_labels(x, false, chart.x_format, chart.x_label);
  return drawing.take();
}

std::string svg(const StackedBars& chart) {
  double longest = 0;
  for (const auto& bar : chart.bars)
    longest = std::max(longest, std::accumulate(bar.parts.begin(), bar.parts.end(), 0.0));
  if (longest <= 0)
    return "<p class=\"empty\">no values</p>";
  constexpr double pitch = 34, thick = 22, sums = 76;
  const double names = chart.name_width;
  const Axis x{0, longest, names, width - sums};
  Drawing drawing(chart.label, 8 + pitch * static_cast<double>(chart.bars.size()));
  double y = 8;
  for (const auto& bar : chart.bars) {
    double sum = 0;
    drawing.text(names - 10, y + 15, "end", bar.name);
    for (std::size_t i = 0; i < bar.parts.size(); ++i) {
      const double from = x.at(sum), to = x.at(sum += bar.parts[i]);
      if (to - from > 0.1)
        drawing.add(
            R"(<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}"><title>{}: {}</title></rect>)",
            color_class(i), from, y, to - from, thick, escaped(chart.parts[i]),
            escaped(chart.format(bar.parts[i])));
    }
    drawing.text(x.at(sum) + 8, y + 15, "start", chart.format(sum));
    y += pitch;
  }
  if (chart.parts.size() == 1) // the chart's own name says it
    return drawing.take();
  Legend entries;
  for (std::size_t i = 0; i < chart.parts.size(); ++i)
    entries.emplace_back(chart.parts[i], color_class(i));
  return drawing.take() + legend(entries);
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text)
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += c;
    }
  return result;
}

} // namespace troupe::metrics
