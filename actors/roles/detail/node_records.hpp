/// The nodes of a job, as the run's page and Prometheus show them.
#pragma once

#include "actors/job_status.hpp"
#include "metrics/http/scrape_targets.hpp"
#include "metrics/report/run_document.hpp"

#include <string>
#include <vector>

namespace troupe::actors {

/// Returns the host name, or the address if nodes of the job share the host name.
const std::string& label_of(const NodeStatus& node, const std::vector<NodeStatus>& nodes);
/// The first node leads.
std::vector<metrics::NodeRecord> records_of(const std::vector<NodeStatus>& nodes);
/// The nodes that serve metrics.
std::vector<metrics::ScrapeTarget> targets_of(const std::vector<NodeStatus>& nodes);

} // namespace troupe::actors
