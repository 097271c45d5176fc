/// How far the steps of a generation have come. A value type without actors or clocks.
#pragma once

#include "actors/messages.hpp"
#include "data/slice_balancer.hpp"
#include "training/job_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace troupe::actors {

/// A step is granted, then reported by one rank after the other, then committed.
struct StepProgress {
  const training::JobPlan& plan;
  std::int32_t ranks;
  std::int64_t committed, granted = committed;
  std::int64_t agreed = committed; ///< number of steps after which all ranks last had one state
  bool synchronizes = false;       ///< ranks are synchronizing
  bool stopping = false;           ///< no further steps are granted
  double seconds = 0;              ///< total over the generation's steps
  std::map<std::int64_t, std::vector<StepReport>> reports = {}; ///< by step

  bool is_over() const { return committed == plan.total_steps() || stopping; }
  /// Returns the step at which training pauses next: all steps below it are committed then.
  std::int64_t pause(const data::SliceBalancer& balancer) const {
    if (stopping)
      return granted;
    const auto pause = plan.next_pause(committed);
    return std::min(pause, balancer.next_look(committed).value_or(pause));
  }
  /// Allows the steps below `limit`. Returns whether one of them was not yet allowed.
  bool grant(std::int64_t limit) {
    return std::exchange(granted, std::max(granted, limit)) < limit;
  }
  /// Returns whether all ranks have now reported the step.
  bool add(const StepReport& report) {
    auto& of_step = reports[report.worker.step];
    of_step.push_back(report);
    return std::ssize(of_step) >= ranks;
  }
  /// Returns the step's reports in rank order: sums must not depend on the order of arrival.
  std::vector<StepReport> commit(std::int64_t step) {
    auto of_step = std::move(reports.extract(step).mapped());
    std::ranges::sort(of_step, {}, &StepReport::rank);
    committed = step + 1;
    return of_step;
  }
};

} // namespace troupe::actors
