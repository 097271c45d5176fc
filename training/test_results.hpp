/// Results of an evaluation in a checkpoint's metadata.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace troupe::training {

/// Each is empty if the model has no such metric.
struct TestResults {
  std::optional<double> loss = {}, accuracy = {};
};

/// Converts the results to and from the keys "test_loss" and "test_accuracy".
std::map<std::string, std::string> to_metadata(const TestResults& results);
TestResults test_results_of(const std::map<std::string, std::string>& metadata);

} // namespace troupe::training
