/// METRICS: hands what the roles report to the run's view. Detached: it writes files.
#pragma once

#include "../interfaces.hpp"
#include "detail/host_sampler.hpp"
#include "detail/run_view.hpp"

#include "troupe/metrics/trace.hpp"

#include <memory>
#include <string>

namespace troupe::actors {

struct MetricsSetup {
  RunViewPtr view;
  HostSampler sampler = {};
  std::string address = {};  ///< of this node, as NodeStatus has it
  metrics::Trace trace = {}; ///< written to the disk here, with all that waits for files
};

class MetricsState {
public:
  static inline const char* name = "metrics";

  MetricsState(metrics_actor::pointer self, MetricsSetup setup);
  metrics_actor::behavior_type make_behavior();

private:
  void sample();

  metrics_actor::pointer self_;
  RunViewPtr view_;
  HostSampler sampler_;
  std::string address_;
  heartbeat_actor leader_; ///< null: nothing has begun
  metrics::Trace trace_;
  metrics::Track row_;
};

} // namespace troupe::actors
