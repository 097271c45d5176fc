/// The list of all metrics. Dashboards and alert rules use only these, and docs/metrics.md is
/// generated from it. Only the leader exports metrics of the whole job (loss, steps, checkpoints).
/// Every node exports its phase and the usage of its workers and actors.
#pragma once

#include "metrics/records/shared_metrics.hpp"
#include "metrics/registry/names_job.hpp"
#include "metrics/registry/names_machine.hpp"
#include "metrics/registry/names_speed.hpp"

#include <vector>

namespace troupe::metrics::names {

/// Returns the metrics that are named here, and those of the fields of records
/// (metrics/records/), each once.
const std::vector<MetricName>& all();

} // namespace troupe::metrics::names
