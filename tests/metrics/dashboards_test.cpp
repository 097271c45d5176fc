#include "metrics/registry/names.hpp"
#include "tests/support/dashboards.hpp"

#include <catch2/catch_test_macros.hpp>

#include <map>
#include <set>
#include <string>
#include <string_view>

using namespace troupe::metrics;
using namespace troupe::testing;

namespace {

/// Whether the list of metrics contains a series, including the series of histograms.
bool is_known(const std::string& series) {
  for (const auto& metric : names::all()) {
    if (series == metric.name)
      return metric.type != MetricType::histogram;
    if (metric.type == MetricType::histogram)
      for (const char* part : {"_bucket", "_sum", "_count"})
        if (series == std::string(metric.name) + part)
          return true;
  }
  return false;
}

std::set<std::string> used_in(const std::string& file) {
  const auto found = series_in(read_bytes(dashboards_folder() / file));
  return {found.begin(), found.end()};
}

} // namespace

TEST_CASE("dashboards and alerts use only metrics that exist") {
  for (const char* file :
       {"training.json", "cluster.json", "performance.json", "device.json", "alerts.yml"}) {
    const auto used = used_in(file);
    CHECK(used.size() > 3);
    for (const auto& series : used) {
      CAPTURE(file, series);
      CHECK(is_known(series));
    }
  }
}

TEST_CASE("every metric is on a dashboard or used by an alert") {
  auto used = used_in("alerts.yml");
  for (const std::string name : dashboard_names)
    used.merge(used_in(name + ".json"));
  for (const auto& metric : names::all()) {
    const std::string name(metric.name);
    CAPTURE(name);
    if (std::string_view{metric.help}.starts_with("Deprecated"))
      continue;
    CHECK((used.contains(name) || used.contains(name + "_bucket") || used.contains(name + "_sum")));
  }
}

TEST_CASE("Grafana can load the dashboards, and they link to each other") {
  std::set<std::string> uids;
  for (const std::string name : dashboard_names) {
    CAPTURE(name);
    const auto dashboard = read_dashboard(name);
    CHECK(uids.insert(dashboard.at("uid")).second);
    CHECK(dashboard.at("schemaVersion") >= 36);
    CHECK(dashboard.at("tags").at(0) == "troupe");
    CHECK(dashboard.at("links").at(0).at("tags").at(0) == "troupe");
    std::set<int> ids;
    for (const auto& panel : dashboard.at("panels")) {
      CAPTURE(panel.at("title").get<std::string>());
      CHECK(ids.insert(panel.at("id").get<int>()).second);
      const auto& place = panel.at("gridPos");
      CHECK(place.at("x").get<int>() + place.at("w").get<int>() <= 24);
      if (panel.at("type") == "row")
        continue;
      CHECK(!panel.at("targets").empty());
      CHECK(!panel.at("description").get<std::string>().empty());
      CHECK(!panel.at("fieldConfig").at("defaults").at("unit").get<std::string>().empty());
    }
  }
}

TEST_CASE("no two panels of a dashboard overlap") {
  for (const std::string name : dashboard_names) {
    const auto dashboard = read_dashboard(name);
    std::map<std::pair<int, int>, std::string> taken; // by column and line
    for (const auto& panel : dashboard.at("panels")) {
      const auto title = panel.at("title").get<std::string>();
      std::map<std::string, int> place = panel.at("gridPos");
      for (int x = place.at("x"); x < place.at("x") + place.at("w"); ++x)
        for (int y = place.at("y"); y < place.at("y") + place.at("h"); ++y) {
          const auto& [at, free] = taken.try_emplace({x, y}, title);
          if (!free)
            FAIL(name << ": " << title << " lies on " << at->second);
        }
    }
  }
}

TEST_CASE("dashboards filter by job and node, and distinguish nodes") {
  for (const std::string name : dashboard_names) {
    std::set<std::string> variables;
    const auto dashboard = read_dashboard(name);
    for (const auto& variable : dashboard.at("templating").at("list"))
      variables.insert(variable.at("name"));
    CHECK(variables == std::set<std::string>{"datasource", "job", "node"});
  }
  for (const auto& [dashboard, panel, expression, legend] : panel_queries()) {
    CAPTURE(dashboard, panel, expression);
    CHECK(expression.find("{job=~\"$job\",node=~\"$node\"") != std::string::npos);
    const bool of_the_job = panel == "Run" || panel == "Nodes"; // all nodes report the same values
    CHECK((of_the_job || legend.starts_with("{{node}}")));
  }
}

TEST_CASE("Prometheus scrapes the default endpoint of configs") {
  const auto header = read_bytes(source_tree() / "core/config/config.hpp");
  CHECK(header.find("listen = \"127.0.0.1:9401\"") != std::string::npos);
  CHECK(read_bytes(dashboards_folder() / "prometheus.yml").find("127.0.0.1:9401") !=
        std::string::npos);
}
