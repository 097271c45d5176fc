/// How a job ended. Crosses process borders, also inside the last generation record that the voters
/// decide on.
#pragma once

#include "core/error.hpp"
#include "metrics/records/run.hpp"

#include <optional>
#include <tuple>
#include <utility>

namespace troupe::training {

/// Result that the leader sends to the other nodes.
struct JobEnd {
  metrics::RunResult result;
  std::optional<Error> error = {};
  bool for_all = true; ///< false: only the receiving node leaves the job

  auto fields() {
    return std::tie(result.status, error, for_all, result.steps, result.epochs, result.seconds,
                    result.samples_per_second, result.mfu, result.loss, result.test_loss,
                    result.accuracy, result.parameters_sha256);
  }
};

inline JobEnd failed_end(Error error) {
  return {.result = {.status = "failed"}, .error = std::move(error)};
}

} // namespace troupe::training
