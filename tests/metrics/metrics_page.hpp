/// Generates docs/metrics.md from the list of metrics and the dashboards and rules that use them.
#pragma once

#include <string>

namespace troupe::testing {

std::string metrics_page();

} // namespace troupe::testing
