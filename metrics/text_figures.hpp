/// Throughput and perplexity of runs on texts.
#pragma once

#include "metrics/records/run.hpp"

#include <optional>
#include <string_view>

namespace troupe::metrics {

struct Throughput {
  double per_second = 0;
  std::string_view what; ///< valid as long as the run's info
};

/// In samples, or in tokens for texts.
Throughput throughput(const RunInfo& run, double samples_per_second);

/// Empty unless samples are texts.
std::optional<double> tokens_per_second(const RunInfo& run, double samples_per_second);

/// Multiplications and additions of the model's products. Empty if their number is unknown.
std::optional<double> operations_per_second(const RunInfo& run, double samples_per_second);

/// e to the power of a token's mean loss. Empty unless samples are texts.
std::optional<double> perplexity(const RunInfo& run, const std::optional<double>& loss);

} // namespace troupe::metrics
