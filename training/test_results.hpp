/// What an evaluation gave, as a checkpoint's metadata say it.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace troupe::training {

/// Empty where the model has none of the kind.
struct TestResults {
  std::optional<double> loss = {}, accuracy = {};
};

/// Under "test_loss" and "test_accuracy".
std::map<std::string, std::string> to_metadata(const TestResults& results);
TestResults test_results_of(const std::map<std::string, std::string>& metadata);

} // namespace troupe::training
