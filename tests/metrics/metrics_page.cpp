#include "tests/metrics/metrics_page.hpp"

#include "metrics/registry/names.hpp"
#include "tests/support/dashboards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace troupe::testing {

namespace {

using metrics::MetricName;
using metrics::MetricType;

constexpr const char* head = R"(# Metrics

The metrics of `/metrics` (`metrics.listen`), the panels of the [dashboards](../dashboards/README.md) that show them, and the alerts that
watch them. This page is generated from `metrics/registry/names.cpp` and the files of `dashboards/`; a test fails if it is out of date. To
generate it again:

```
cmake --preset dev && cmake --build --preset dev --target troupe_metrics_page
build/dev/tests/metrics/troupe_metrics_page >docs/metrics.md
```

- Reported by: the leader reports the metrics of the job; every node reports those of its own workers.
- With `/sd` every series also has the label `node`. A label `rank` is a worker's rank in the job. Series with the label `rank` or `peer` end
  with their generation: when nodes are lost or join, counters of ranks start again at zero.
- A histogram has the series `_bucket`, `_sum` and `_count`.
- Unknown values are missing, such as those of an evaluation before the first one, or of a GPU on a host without one. Values of NVML
  (`troupe_gpu_*`) have not been tested on a real GPU, only with a library of the tests.
- Metrics cost a few additions per step. `/proc` and NVML are read once a second, `process_*` at each scrape.

| metric | type | unit | labels | reported by | meaning | used in |
|---|---|---|---|---|---|---|
)";

std::string unit_of(std::string_view name) {
  if (name.ends_with("_total"))
    name.remove_suffix(6);
  const std::map<std::string_view, std::string_view> units = {
      {"_seconds", "s"},  {"_bytes", "bytes"}, {"_ratio", "1 is 100%"},
      {"_watts", "W"},    {"_celsius", "°C"},  {"_hertz", "Hz"},
      {"_second", "1/s"}, {"_steps", "steps"}, {"_operations", "operations"}};
  for (const auto& [suffix, unit] : units)
    if (name.ends_with(suffix))
      return std::string{unit};
  return "";
}

std::string labels_of(const MetricName& metric) {
  std::string text;
  for (const auto label : metric.labels)
    if (!label.empty())
      text += (text.empty() ? "`" : ", `") + std::string{label} + "`";
  return text;
}

bool uses(const std::string& text, const MetricName& metric) {
  return std::ranges::any_of(series_in(text), [&](const std::string& series) {
    const std::string name{metric.name};
    return series == name ||
           (metric.type == MetricType::histogram &&
            (series == name + "_bucket" || series == name + "_sum" || series == name + "_count"));
  });
}

/// Returns the text of each rule with its name.
std::vector<std::pair<std::string, std::string>> alerts() {
  std::vector<std::pair<std::string, std::string>> all;
  std::istringstream in{read_bytes(dashboards_folder() / "alerts.yml")};
  const std::string begin = "- alert: ";
  for (std::string line; std::getline(in, line);)
    if (const auto at = line.find(begin); at != std::string::npos)
      all.emplace_back(line.substr(at + begin.size()), "");
    else if (!all.empty() && line.find('#') == std::string::npos)
      all.back().second += line + "\n";
  return all;
}

std::string users_of(const MetricName& metric) {
  std::vector<std::string> users;
  for (auto query : panel_queries()) {
    query.dashboard.front() -= 'a' - 'A';
    if (uses(query.expression, metric))
      users.push_back(query.dashboard + ": " + query.panel);
  }
  for (const auto& [name, text] : alerts())
    if (uses(text, metric))
      users.push_back(name);
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return fmt::format("{}", fmt::join(users, "; "));
}

} // namespace

std::string metrics_page() {
  std::string page = head;
  for (const auto& metric : metrics::names::all()) {
    constexpr const char* types[] = {"counter", "gauge", "histogram"};
    page += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", metric.name,
                        types[static_cast<std::size_t>(metric.type)], unit_of(metric.name),
                        labels_of(metric),
                        metric.teller == metrics::Teller::leader ? "leader" : "every node",
                        metric.help, users_of(metric));
  }
  return page;
}

} // namespace troupe::testing
