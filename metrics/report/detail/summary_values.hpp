/// JSON shared by summary.json, run.json and the document of a run's page.
#pragma once

#include "metrics/report/detail/json_values.hpp"
#include "metrics/step_record.hpp"

#include <array>
#include <cstddef>

namespace troupe::metrics {

/// The content of run.json.
OrderedJson object_of(const RunInfo& run);
OrderedJson object_of(const RecomputeRecord& recompute);
OrderedJson bytes_by_kind(const std::array<std::size_t, memory_kinds>& bytes);

} // namespace troupe::metrics
