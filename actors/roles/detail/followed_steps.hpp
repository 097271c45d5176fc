/// The progress of a run on nodes that do not lead it.
#pragma once

#include "metrics/live/live_run.hpp"
#include "metrics/run_sink.hpp"

#include <cstdint>

namespace troupe::actors {

/// A node that does not lead receives no steps. Its page shows the steps of its own workers.
class FollowedSteps final : public metrics::RunSink {
public:
  explicit FollowedSteps(metrics::LiveRun& page) : page_{page} {}

  void begin(std::int64_t first_step) { first_step_ = first_step; }
  using RunSink::record;
  void record(const metrics::WorkerSummary& worker) override {
    page_.record_steps(first_step_ + worker.steps);
  }

private:
  metrics::LiveRun& page_;
  std::int64_t first_step_ = 0;
};

} // namespace troupe::actors
