/// Writes the history of a run directly as JSON text: it contains many numbers.
#pragma once

#include "metrics/report/comparison.hpp"
#include "metrics/report/run_history.hpp"
#include "metrics/report/run_json.hpp"

#include <cstddef>
#include <string>

namespace troupe::metrics {

/// Points from index `from` on, as columns. Values have seven digits, the precision of a float.
std::string json_of(const StepHistory& steps, std::size_t from);
std::string json_of(const DurationHistogram& seconds);
/// The history of a run in a comparison.
std::string json_of(const RunCurves& curves);

/// A list of records, each as in the run's files.
template <class Records>
std::string json_of_all(const Records& records) {
  std::string text = "[";
  for (const auto& record : records)
    text.append(text.size() > 1 ? "," : "").append(to_json(record));
  return text + "]";
}

} // namespace troupe::metrics
