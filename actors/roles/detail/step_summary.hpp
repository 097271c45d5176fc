/// What ranks report, put together.
#pragma once

#include "actors/messages.hpp"

#include <span>

namespace troupe::actors {

/// Seconds of all ranks together.
struct CollectiveTime {
  double total = 0;
  double overlapped = 0; ///< the part of it in which the rank also computed
};

/// A step that all ranks have committed, but for its epoch, learning rate and duration. `reports`
/// are in the order of the ranks, so that sums do not depend on who was first.
metrics::StepRecord summarize(std::span<const StepReport> reports, CollectiveTime& collective);

/// Time of a rank in the collectives of a step.
std::chrono::nanoseconds collective_time(const StepReport& report);

/// Resources a rank has used so far. `busy_ratio`: share of its steps' time.
metrics::WorkerSummary summarize(std::int32_t rank, const std::string& device,
                                 const MemoryUse& memory, double busy_ratio);

/// The ranks' parts of a pass over the test set, in the order of the ranks.
EvaluationReport total(std::span<const EvaluationReport> reports);

/// 0 when the whole is.
inline double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

inline double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

} // namespace troupe::actors
