#include "../core/scratch_folder.hpp"
#include "../source_tree.hpp"

#include "troupe/metrics/registry/names.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <string>
#include <string_view>

using namespace troupe::metrics;
using troupe::testing::read_bytes;

namespace {

const std::filesystem::path dashboards = troupe::testing::source_tree() / "dashboards";

/// As in the list; of a histogram also its parts.
bool is_known(const std::string& series) {
  for (const auto& metric : names::all) {
    if (series == metric.name)
      return metric.type != MetricType::histogram;
    if (metric.type == MetricType::histogram)
      for (const char* part : {"_bucket", "_sum", "_count"})
        if (series == std::string(metric.name) + part)
          return true;
  }
  return false;
}

std::set<std::string> series_in(const std::string& text) {
  const char* letters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  std::set<std::string> result;
  for (auto at = text.find("troupe_"); at != std::string::npos; at = text.find("troupe_", at + 1))
    result.insert(text.substr(at, text.find_first_not_of(letters, at) - at));
  return result;
}

} // namespace

TEST_CASE("dashboard and alerts use only metrics that exist") {
  for (const char* file : {"troupe.json", "alerts.yml"}) {
    const auto used = series_in(read_bytes(dashboards / file));
    CHECK(used.size() > 3);
    for (const auto& series : used) {
      CAPTURE(file, series);
      CHECK(is_known(series));
    }
  }
}

TEST_CASE("every metric is on the dashboard or watched by an alert") {
  const auto used =
      series_in(read_bytes(dashboards / "troupe.json") + read_bytes(dashboards / "alerts.yml"));
  for (const auto& metric : names::all) {
    // For people and other tools.
    const std::set<std::string_view> elsewhere = {"troupe_ready", "troupe_start_time_seconds",
                                                  "troupe_world_size", "troupe_memory_peak_bytes"};
    if (elsewhere.contains(metric.name))
      continue;
    const std::string name(metric.name);
    CAPTURE(name);
    CHECK((used.contains(name) || used.contains(name + "_bucket") || used.contains(name + "_sum")));
  }
}

TEST_CASE("the dashboard is one that Grafana can load") {
  const auto dashboard = nlohmann::json::parse(read_bytes(dashboards / "troupe.json"));
  CHECK(dashboard.at("uid") == "troupe");
  CHECK(dashboard.at("schemaVersion") >= 36);
  std::set<int> ids;
  for (const auto& panel : dashboard.at("panels")) {
    CAPTURE(panel.at("title").get<std::string>());
    CHECK(ids.insert(panel.at("id").get<int>()).second);
    const auto& place = panel.at("gridPos");
    CHECK(place.at("x").get<int>() + place.at("w").get<int>() <= 24);
    if (panel.at("type") != "row")
      CHECK(!panel.at("targets").empty());
  }
}

TEST_CASE("no two panels lie on each other") {
  const auto dashboard = nlohmann::json::parse(read_bytes(dashboards / "troupe.json"));
  std::map<std::pair<int, int>, std::string> taken; // by column and line
  for (const auto& panel : dashboard.at("panels")) {
    const auto title = panel.at("title").get<std::string>();
    const auto place = panel.at("gridPos").get<std::map<std::string, int>>();
    for (int x = place.at("x"); x < place.at("x") + place.at("w"); ++x)
      for (int y = place.at("y"); y < place.at("y") + place.at("h"); ++y) {
        const auto& [at, free] = taken.try_emplace({x, y}, title);
        if (!free)
          FAIL(title << " lies on " << at->second);
      }
  }
}

TEST_CASE("legends tell the nodes of a job apart, and sums keep them apart") {
  const auto dashboard = nlohmann::json::parse(read_bytes(dashboards / "troupe.json"));
  for (const auto& panel : dashboard.at("panels")) {
    if (panel.at("type") == "row" || panel.at("title") == "Run") // which all nodes tell alike
      continue;
    for (const auto& target : panel.at("targets")) {
      const auto expression = target.at("expr").get<std::string>();
      CAPTURE(expression);
      CHECK(target.at("legendFormat").get<std::string>().starts_with("{{node}}"));
      const auto by = expression.find(" by (");
      CHECK(
          (by == std::string::npos ||
           expression.substr(by, expression.find(')', by) - by).find("node") != std::string::npos));
    }
  }
}

TEST_CASE("Prometheus scrapes the endpoint that configs have by default") {
  const auto header = read_bytes(troupe::testing::source_tree() / "core/config/config.hpp");
  CHECK(header.find("listen = \"127.0.0.1:9401\"") != std::string::npos);
  CHECK(read_bytes(dashboards / "prometheus.yml").find("127.0.0.1:9401") != std::string::npos);
}
