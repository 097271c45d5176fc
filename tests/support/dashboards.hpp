/// Reads dashboards/.
#pragma once

#include "tests/support/scratch_folder.hpp"
#include "tests/support/source_tree.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe::testing {

inline std::filesystem::path dashboards_folder() {
  return source_tree() / "dashboards";
}

inline constexpr std::array dashboard_names = {"training", "cluster", "performance", "device"};

inline nlohmann::json read_dashboard(const std::string& name) {
  return nlohmann::json::parse(read_bytes(dashboards_folder() / (name + ".json")));
}

struct PanelQuery {
  std::string dashboard, panel, expression, legend;
};

/// Returns the queries of all panels of all dashboards.
inline std::vector<PanelQuery> panel_queries() {
  std::vector<PanelQuery> queries;
  for (const std::string name : dashboard_names) {
    const auto dashboard = read_dashboard(name);
    for (const auto& panel : dashboard.at("panels"))
      if (panel.contains("targets"))
        for (const auto& target : panel.at("targets"))
          queries.push_back(
              {name, panel.at("title"), target.at("expr"), target.at("legendFormat")});
  }
  return queries;
}

/// Returns the names in a text that begin with the prefix of our metrics, including the series of
/// histograms.
inline std::vector<std::string> series_in(const std::string& text) {
  const char* letters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  std::vector<std::string> found;
  for (const std::string begin : {"troupe_", "process_"})
    for (auto at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1))
      if (at == 0 || std::string_view{letters}.find(text[at - 1]) == std::string_view::npos)
        found.push_back(text.substr(at, text.find_first_not_of(letters, at) - at));
  return found;
}

} // namespace troupe::testing
