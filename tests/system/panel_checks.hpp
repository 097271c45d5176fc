/// Queries a Prometheus as Grafana would.
#pragma once

#include "tests/support/dashboards.hpp"
#include "tests/support/prometheus_server.hpp"
#include "tests/system/running_program.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <functional>
#include <regex>
#include <string>

namespace troupe::testing {

/// Whether an expression needs a GPU.
inline bool needs_gpu(const std::string& expression) {
  for (const char* name : {"troupe_gpu_", "troupe_memory_limit_bytes"})
    if (expression.find(name) != std::string::npos)
      return true;
  return false;
}

/// Fills in Grafana's variables, with all jobs and nodes chosen.
inline std::string filled_in(std::string expression) {
  const std::pair<const char*, const char*> variables[] = {
      {R"(\$job)", "troupe"}, {R"(\$node)", ".*"}, {R"(\$__rate_interval)", "10s"}};
  for (const auto& [name, value] : variables)
    expression = std::regex_replace(expression, std::regex{name}, value);
  return expression;
}

/// Waits for series with numeric values and returns them.
inline nlohmann::json found(const PrometheusServer& prometheus, const std::string& expression) {
  auto series = nlohmann::json::array();
  becomes_true([&] {
    for (const auto& each : prometheus.series(expression))
      if (std::isfinite(std::stod(each.at("value").at(1).get<std::string>())))
        series.push_back(each);
    return !series.empty();
  });
  return series;
}

/// Checks that each expression finds numbers, of nodes whose names are known.
inline void check_panels(const PrometheusServer& prometheus,
                         const std::function<bool(const std::string& expression)>& asked) {
  int checked = 0;
  for (const auto& [dashboard, panel, expression, legend] : panel_queries()) {
    if (!asked(expression))
      continue;
    CAPTURE(dashboard, panel, expression);
    const auto series = found(prometheus, filled_in(expression));
    CHECK_FALSE(series.empty());
    if (legend.starts_with("{{node}}"))
      for (const auto& each : series)
        CHECK_FALSE(each.at("metric").value("node", "").empty());
    ++checked;
  }
  CHECK(checked > 0);
}

} // namespace troupe::testing
