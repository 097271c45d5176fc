/// dashboards/alerts.yml with shorter times, so that a test does not wait ten minutes.
#pragma once

#include "tests/support/scratch_folder.hpp"
#include "tests/support/source_tree.hpp"

#include <catch2/catch_test_macros.hpp>

#include <regex>
#include <string>

namespace troupe::testing {

/// `rates`: replaces the rules' five-minute window.
inline std::string quick_rules(const std::string& rates = "5m") {
  auto rules = read_bytes(source_tree() / "dashboards/alerts.yml");
  rules = std::regex_replace(rules, std::regex{"for: [0-9]+m"}, "for: 1s");
  rules = std::regex_replace(rules, std::regex{"\\[5m\\]"}, "[" + rates + "]");
  return std::regex_replace(rules, std::regex{"\\[2m\\]"}, "[5s]");
}

inline void need_prometheus() {
  if (const std::string program = TROUPE_PROMETHEUS;
      program.empty() || program.ends_with("-NOTFOUND"))
    SKIP("prometheus is not installed (tools/bootstrap does it)");
}

} // namespace troupe::testing
