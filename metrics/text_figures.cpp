#include "metrics/text_figures.hpp"

#include <cmath>

namespace troupe::metrics {

Throughput throughput(const RunInfo& run, double samples_per_second) {
  if (const auto tokens = tokens_per_second(run, samples_per_second))
    return {*tokens, "tokens"};
  return {samples_per_second, run.sample_name};
}

std::optional<double> tokens_per_second(const RunInfo& run, double samples_per_second) {
  if (run.tokens_per_sample == 0)
    return std::nullopt;
  return samples_per_second * static_cast<double>(run.tokens_per_sample);
}

std::optional<double> operations_per_second(const RunInfo& run, double samples_per_second) {
  if (run.operations_per_step <= 0 || run.batch_size <= 0)
    return std::nullopt;
  return samples_per_second / static_cast<double>(run.batch_size) * run.operations_per_step;
}

std::optional<double> perplexity(const RunInfo& run, const std::optional<double>& loss) {
  return run.tokens_per_sample > 0 && loss ? std::optional{std::exp(*loss)} : std::nullopt;
}

} // namespace troupe::metrics
