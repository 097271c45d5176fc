/// Writes the history of a run directly as JSON text: it contains many numbers.
#pragma once

#include "metrics/report/comparison.hpp"
#include "metrics/report/run_history.hpp"

#include <cstddef>
#include <string>

namespace troupe::metrics {

/// Points from index `from` on, as columns. Values have seven digits, the precision of a float.
std::string json_of(const StepHistory& steps, std::size_t from);
std::string json_of(const DurationHistogram& seconds);
/// The history of a run in a comparison.
std::string json_of(const RunCurves& curves);

} // namespace troupe::metrics
