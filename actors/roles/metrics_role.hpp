/// METRICS: passes the reports of the roles to the run's view. Detached, because it writes files.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/roles/detail/host_sampler.hpp"
#include "actors/roles/run_view.hpp"
#include "metrics/trace.hpp"
#include "training/trace_rows.hpp"

#include <string>
#include <vector>

namespace troupe::actors {

struct MetricsSetup {
  RunViewPtr view;
  HostSampler sampler = {};
  std::string address = {};  ///< of this node, as in metrics::NodeRecord
  metrics::Trace trace = {}; ///< written to disk by this actor
};

class MetricsState {
public:
  static inline const char* name = "metrics";

  MetricsState(metrics_actor::pointer self, MetricsSetup setup)
      : self_{self}, setup_{std::move(setup)}, row_{setup_.trace.track(training::node_rows, name)} {
  }
  metrics_actor::behavior_type make_behavior();

private:
  void sample();
  void fetch_lines();
  void tell_lines();

  metrics_actor::pointer self_;
  MetricsSetup setup_;
  heartbeat_actor leader_; ///< null: nothing has begun
  /// A node that waits for lines of the run's files that it lacks.
  struct Follower {
    metrics::HistoryPlace there;
    caf::typed_response_promise<metrics::HistoryChunk> lines;
  };
  std::vector<Follower> followers_;
  metrics::Track row_;
};

} // namespace troupe::actors
