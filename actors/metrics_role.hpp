/// METRICS: hands what the roles report to the run's view. Detached: it writes files.
#pragma once

#include "interfaces.hpp"
#include "run_view.hpp"

namespace troupe::actors {

class MetricsState {
public:
  static inline const char* name = "metrics";

  MetricsState(metrics_actor::pointer self, std::unique_ptr<RunView> view)
      : self_{self}, view_{std::move(view)} {}
  metrics_actor::behavior_type make_behavior();

private:
  void sample();

  metrics_actor::pointer self_;
  std::unique_ptr<RunView> view_;
};

} // namespace troupe::actors
