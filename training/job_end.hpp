/// How a job ended. Crosses process borders, also inside the last generation record that the voters
/// decide on.
#pragma once

#include "core/error.hpp"
#include "metrics/records/run.hpp"

#include <optional>
#include <utility>

namespace troupe::training {

/// Result that the leader sends to the other nodes.
struct JobEnd {
  metrics::RunResult result;
  std::optional<Error> error = {};
  bool for_all = true; ///< false: only the receiving node leaves the job

  template <class Inspector>
  friend bool inspect(Inspector& f, JobEnd& x) {
    auto& r = x.result;
    return f.object(x).fields(
        f.field("status", r.status), f.field("error", x.error), f.field("for_all", x.for_all),
        f.field("steps", r.steps), f.field("epochs", r.epochs), f.field("seconds", r.seconds),
        f.field("samples_per_second", r.samples_per_second), f.field("mfu", r.mfu),
        f.field("loss", r.loss), f.field("test_loss", r.test_loss), f.field("accuracy", r.accuracy),
        f.field("parameters_sha256", r.parameters_sha256));
  }
};

inline JobEnd failed_end(Error error) {
  return {.result = {.status = "failed"}, .error = std::move(error)};
}

} // namespace troupe::training
