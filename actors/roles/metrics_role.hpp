/// METRICS: hands what the roles report to the run's view. Detached: it writes files.
#pragma once

#include "../interfaces.hpp"
#include "detail/run_view.hpp"

#include "troupe/metrics/trace.hpp"

namespace troupe::actors {

class MetricsState {
public:
  static inline const char* name = "metrics";

  /// `trace` is written to the disk here, with everything else that waits for files.
  MetricsState(metrics_actor::pointer self, std::unique_ptr<RunView> view,
               const metrics::Trace& trace);
  metrics_actor::behavior_type make_behavior();

private:
  void sample();

  metrics_actor::pointer self_;
  std::unique_ptr<RunView> view_;
  metrics::Trace trace_;
  metrics::Track row_;
};

} // namespace troupe::actors
