/// The answer of a daemon to `troupe status`.
#pragma once

#include "metrics/report/run_document.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace troupe::actors {

/// The current wait of a daemon (waits.hpp).
struct WaitStatus {
  std::string what; ///< "waiting for 1 more node (1 of 2: a:7401)"; empty: it does not wait
  std::int64_t waited_ms = 0; ///< so far
  std::int64_t limit_ms = 0;  ///< 0: no limit; the wait lasts as long as the other side lives

  bool operator==(const WaitStatus&) const = default;

  auto fields() { return std::tie(what, waited_ms, limit_ms); }
};

/// The progress of a job. Only committed steps count. `epoch` is that of the next step, or of the
/// last one when the job is complete, counted from 0.
struct JobStatus {
  std::string name;
  /// joining, training, evaluating, saving, finishing, ended; before these: starting, or a
  /// description of the current wait.
  std::string phase;
  std::int64_t generation = 1; ///< of the membership
  std::int64_t step = 0, total_steps = 0, epoch = 0;
  std::int32_t world_size = 0;
  double loss = 0, samples_per_second = 0;
  std::optional<double> tokens_per_second = {}; ///< of these samples, if they are texts
  std::string error;                            ///< why the job failed; empty: it has not
  std::vector<metrics::NodeRecord> nodes;       ///< the leader first; empty: there is no job yet
  WaitStatus wait = {};                         ///< of the daemon that answers

  auto fields() {
    return std::tie(name, phase, generation, step, total_steps, epoch, world_size, loss,
                    samples_per_second, tokens_per_second, error, nodes, wait);
  }
};

} // namespace troupe::actors

namespace troupe::metrics {

/// The fields in messages: COORDINATOR knows these, and METRICS fills in the others for the page.
inline auto fields(NodeRecord& x) {
  return std::tie(x.name, x.address, x.page, x.version, x.state, x.devices, x.ranks);
}

} // namespace troupe::metrics
