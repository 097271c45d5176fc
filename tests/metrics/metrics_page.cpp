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

What `/metrics` tells (`metrics.listen`), which panel of the [dashboards](../dashboards/README.md) shows it, and which alert watches it.
This page is made from `metrics/registry/names.hpp` and the files of `dashboards/`; a test fails when it is not theirs any more. To make it again:

```
cmake --preset dev && cmake --build --preset dev --target troupe_metrics_page
build/dev/tests/metrics/troupe_metrics_page >docs/metrics.md
```

- Told by: what belongs to the job is told by the node that leads it, alone; the rest by every node, of its own workers.
- With `/sd` every series has the label `node` too. A label `rank` is a worker's rank in the job. Series with the label `rank` or `peer` end
  with their generation: when nodes are lost or come, counters of ranks start again at zero.
- A histogram has the series `_bucket`, `_sum` and `_count`.
- A value that nobody knows (yet) is not told: of an evaluation before the first, of a GPU where there is none. Nothing has been shown on a
  real GPU: what NVML tells (`troupe_gpu_*`) is tested with a library of the test's.
- What a step costs for it is a few additions. `/proc` and NVML are read once a second, `process_*` when they are asked for.

| metric | type | unit | labels | told by | what it says | used in |
|---|---|---|---|---|---|---|
)";

std::string unit_of(std::string_view name) {
  if (name.ends_with("_total"))
    name.remove_suffix(6);
  const std::map<std::string_view, std::string_view> units = {
      {"_seconds", "s"},  {"_bytes", "bytes"}, {"_ratio", "1 is all"},
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

/// The text of each rule by its name.
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
  for (const auto& metric : metrics::names::all) {
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
