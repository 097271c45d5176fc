// Whatever a page draws has a colour, on light pages and on dark ones.
#include "records.hpp"
#include "text.hpp"

#include "troupe/metrics/report/comparison.hpp"
#include "troupe/metrics/report/detail/charts.hpp"
#include "troupe/metrics/report/detail/html_page.hpp"
#include "troupe/metrics/report/detail/html_report.hpp"
#include "troupe/metrics/report/detail/palette.hpp"

#include <catch2/catch_test_macros.hpp>

#include <regex>
#include <set>
#include <string>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;

namespace {

/// How often the style sheet says what a class of the palette stands for: once each for light and
/// dark.
std::size_t definitions(const std::string& page, const std::string& color) {
  return count(page, "." + color + " { --data: #");
}

/// The classes of all that is drawn in a colour of data: bars, dots, curves and the legend's marks.
std::set<std::string> colors_drawn(const std::string& page) {
  static const std::regex drawn{R"re(<(rect|circle|i) [^>]*>|<path class="(line|faint)[^>]*>)re"};
  static const std::regex color{R"re(class="(?:[a-z]+ )*(c[0-9]+)")re"};
  std::set<std::string> found;
  for (std::sregex_iterator at{page.begin(), page.end(), drawn}, end; at != end; ++at) {
    const auto element = at->str();
    CAPTURE(element);
    std::smatch match;
    REQUIRE(std::regex_search(element, match, color));
    found.insert(match[1]);
  }
  return found;
}

void check_colors(const std::string& page, std::size_t at_least) {
  const auto colors = colors_drawn(page);
  CHECK(colors.size() >= at_least);
  for (const auto& color : colors) {
    CAPTURE(color);
    CHECK(definitions(page, color) == 2);
  }
}

} // namespace

TEST_CASE("every kind of memory has a colour of its own in the report") {
  check_colors(html_report({small_summary(), small_history(), ""}), memory_kinds);
}

TEST_CASE("every bar of a comparison has a colour") {
  ComparedRun run{
      .strategy = "ddp", .precision = "fp32", .workers = 2, .seconds = 4, .accuracy = 0.5};
  check_colors(to_html({"small", {run}}), 1);
}

TEST_CASE("a chart with more parts than there are colours begins again") {
  StackedBars chart{
      .label = "many", .parts = {}, .bars = {{"all", {}}}, .format = [](double) { return "x"; }};
  for (int part = 0; part < 20; ++part) {
    chart.parts.push_back("part " + std::to_string(part));
    chart.bars[0].parts.push_back(1);
  }
  check_colors(html_page("many", svg(chart)), palette.size());
}

TEST_CASE("no two colours are the same") {
  std::set<std::string_view> light, dark;
  for (const auto& color : palette) {
    light.insert(color.light);
    dark.insert(color.dark);
  }
  CHECK(light.size() == palette.size());
  CHECK(dark.size() == palette.size());
}
