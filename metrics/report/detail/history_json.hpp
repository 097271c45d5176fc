/// The course of a run in the document: many numbers, which are written as text at once.
#pragma once

#include "metrics/report/comparison.hpp"
#include "metrics/report/run_history.hpp"

#include <cstddef>
#include <string>

namespace troupe::metrics {

/// Points from the `from`th on, as columns. Values have seven digits, which is what a float has.
std::string json_of(const StepHistory& steps, std::size_t from);
std::string json_of(const DurationHistogram& seconds);
std::string json_of(const EpochHistory& epochs);
std::string json_of(const RecoveryHistory& recoveries);
std::string json_of(const GeneratedHistory& generated);
/// A run as a comparison shows it.
std::string json_of(const RunCurves& curves);

} // namespace troupe::metrics
