/// What a rank enqueues on its communication stream for one step.
#pragma once

#include "core/device/stream.hpp"
#include "metrics/records/step.hpp"
#include "training/step_plan.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace troupe::training {

struct Collective {
  metrics::CollectiveKind kind;
  EventPtr begin, end;
  std::uint64_t bytes; ///< sent by this rank
};

/// The plan of a step, and the work that was enqueued for it.
struct StepWork {
  StepPlan plan = {};
  std::vector<Collective> done = {};
  /// Start and end of each optimizer update, or of each wait for the host's.
  std::vector<std::pair<EventPtr, EventPtr>> updates = {};
};

} // namespace troupe::training
