/// How far the steps of a generation have come. A value type without actors or clocks.
#pragma once

#include "actors/messages.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace troupe::actors {

/// A step is granted, reported by one rank after the other, and then committed.
class StepProgress {
public:
  /// `total`: steps of the job.
  StepProgress(std::int64_t first_step, std::int64_t total, std::int32_t ranks)
      : total_{total}, ranks_{ranks}, granted_{first_step},
        committed_{first_step}, agreed_{first_step} {}

  // Numbers of steps.
  std::int64_t granted() const { return granted_; }
  std::int64_t committed() const { return committed_; }

  /// Allows the steps below `limit`. Returns whether one of them was not yet allowed.
  bool grant(std::int64_t limit) {
    return std::exchange(granted_, std::max(granted_, limit)) < limit;
  }
  /// Ends the job after the granted steps.
  void stop() { stopped_ = true; }
  bool is_stopped() const { return stopped_; }
  bool is_over() const { return are_all_done() || stopped_; }
  bool are_all_done() const { return committed_ == total_; }
  bool is_idle() const { return committed_ == granted_; }

  /// Returns whether all ranks have now reported the step.
  bool add(const StepReport& report) {
    auto& reports = reports_[report.worker.step];
    reports.push_back(report);
    return std::ssize(reports) >= ranks_;
  }
  /// Whether a rank has reported the next step to commit.
  bool is_next_reported() const {
    return !reports_.empty() && reports_.begin()->first == committed_;
  }
  /// Returns the step's reports in rank order: sums must not depend on the order of arrival.
  std::vector<StepReport> commit(std::int64_t step) {
    auto reports = std::move(reports_.extract(step).mapped());
    std::ranges::sort(reports, {}, &StepReport::rank);
    committed_ = step + 1;
    return reports;
  }

  /// Whether all ranks have the same state after the committed steps.
  bool agree() const { return agreed_ == committed_; }
  void note_agreement() { agreed_ = committed_; }

private:
  std::int64_t total_;
  std::int32_t ranks_;
  std::int64_t granted_, committed_;
  std::int64_t agreed_; ///< number of steps after which all ranks last had the same state
  bool stopped_ = false;
  std::map<std::int64_t, std::vector<StepReport>> reports_; ///< by step
};

} // namespace troupe::actors
