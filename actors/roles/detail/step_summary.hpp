/// Merges the reports of the ranks.
#pragma once

#include "actors/messages.hpp"
#include "core/device/loss_scale.hpp"
#include "metrics/records/step.hpp"

#include <span>

namespace troupe::actors {

/// Sums over all ranks, in seconds.
struct CollectiveTime {
  double total = 0;
  double overlapped = 0; ///< the part during which the rank also computed
};

/// Returns the record of a step that all ranks have committed, without epoch, learning rate and
/// duration. `reports` are in rank order, so that sums do not depend on the order of arrival.
metrics::StepRecord summarize(std::span<const StepReport> reports, CollectiveTime& collective);

/// Returns what a step's report says of loss scaling.
metrics::LossScaling loss_scaling_of(const LossScaleState& state);

/// Returns the time of a rank in the collectives of a step.
std::chrono::nanoseconds collective_time(const StepReport& report);

/// Adds the ranks' evaluations of the test set, which are in rank order.
EvaluationReport total(std::span<const EvaluationReport> reports);

/// 0 if `whole` is 0.
inline double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

inline double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

} // namespace troupe::actors
