/// What is told of a run on texts: their tokens a second, and the perplexity.
#pragma once

#include "metrics/step_record.hpp"

#include <optional>
#include <string_view>

namespace troupe::metrics {

struct Throughput {
  double per_second = 0;
  std::string_view what; ///< lives as long as the run's info
};

/// Of samples, or of the tokens that they are.
Throughput throughput(const RunInfo& run, double samples_per_second);

/// Nothing of samples that are no texts.
std::optional<double> tokens_per_second(const RunInfo& run, double samples_per_second);

/// Multiplications and additions of the model's products. Nothing where their number is unknown.
std::optional<double> operations_per_second(const RunInfo& run, double samples_per_second);

/// e to the power of the mean loss of a token. Nothing of samples that are no texts.
std::optional<double> perplexity(const RunInfo& run, const std::optional<double>& loss);

} // namespace troupe::metrics
