/// Charts as inline SVG, without scripts. Colours are numbers of the palette.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace troupe::metrics {

struct Point {
  double x = 0, y = 0; ///< points with a y that is not finite are left out
};

struct Series {
  enum class Look { line, line_with_dots, faint };

  std::string name;
  std::vector<Point> points;
  std::size_t color = 0;
  Look look = Look::line;
};

using Format = std::function<std::string(double)>;

struct LineChart {
  std::string label; ///< for those who cannot see it
  std::string x_label;
  std::vector<Series> series;
  Format y_format;
  bool whole_x = true;    ///< ticks only at whole numbers
  bool from_zero = false; ///< the y axis starts there
};

struct Histogram {
  std::string label;
  std::string x_label;
  std::vector<double> values;
  Format x_format;
};

struct StackedBar {
  std::string name;
  std::vector<double> parts; ///< one for each of the chart's parts
};

struct StackedBars {
  std::string label;
  std::vector<std::string> parts;
  std::vector<StackedBar> bars;
  Format format;
  double name_width = 62; ///< of the drawing's 640
};

std::string svg(const LineChart& chart);
std::string svg(const Histogram& chart);
std::string svg(const StackedBars& chart);

/// Text for HTML and SVG.
std::string escaped(std::string_view text);

} // namespace troupe::metrics
