/// A run on one page: a file that needs no other file, no script and no network.
#pragma once

#include "../run_history.hpp"

#include <string>

namespace troupe::metrics {

struct ReportInput {
  RunSummary summary;
  RunHistory history;
  std::string config; ///< as YAML
};

std::string html_report(const ReportInput& input);

} // namespace troupe::metrics
