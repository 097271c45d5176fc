/// docs/metrics.md, from the list of metrics and from what uses them.
#pragma once

#include <string>

namespace troupe::testing {

std::string metrics_page();

} // namespace troupe::testing
