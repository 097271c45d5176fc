/// COORDINATOR's checkpoints: the one that is being written, and what is known of the next and the
/// last one. Has no actors or clocks.
#pragma once

#include "actors/messages.hpp"
#include "actors/roles/detail/step_summary.hpp"
#include "metrics/records/checkpoint.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace troupe::actors {

/// There is memory for one snapshot. So while it is written, the next checkpoint has to wait.
class CheckpointProgress {
public:
  using Time = std::chrono::steady_clock::time_point;
  /// `writers`: number of ranks that write a part. `is_wanted`: the first one is due at any step.
  CheckpointProgress(std::size_t writers, bool is_wanted)
      : writers_{writers}, is_wanted_{is_wanted} {}

  std::int32_t writers() const { return static_cast<std::int32_t>(writers_); }
  /// Whether one is due at any step.
  bool is_wanted() const { return is_wanted_; }
  /// Whether the next one would have the best results of the run.
  bool is_next_best() const { return next_.is_best; }
  /// Takes the results of an evaluation, which the checkpoint of this step has, if there is one.
  void evaluated(std::map<std::string, std::string> results, bool is_best) {
    next_.results = std::move(results);
    next_.is_best = is_best;
  }
  /// Returns whether one is due now. `is_planned`: the job's plan says so.
  bool take_due(bool is_planned) {
    return std::exchange(is_wanted_, false) || is_planned || next_.is_best;
  }
  void skip() { next_ = {}; }

  /// Training pauses from now on.
  void pause(Time now) { pause_begin_ = now; }
  /// Begins one, after this number of steps. If the last one is still being written, returns false:
  /// then the new one is due when that one is written.
  bool begin(std::int64_t step) {
    waits_ = is_writing_;
    if (waits_)
      return false;
    parts_ = std::exchange(next_, {});
    parts_.step = step;
    is_writing_ = true;
    return true;
  }
  bool is_writing() const { return is_writing_; }
  /// Training may continue: the pause is over.
  void copied(Time now) { paused_ = seconds(now - pause_begin_); }
  /// Returns whether it was the last part of the checkpoint in progress.
  bool add(const ShardOutcome& part) {
    if (part.step != parts_.step)
      return false;
    parts_.parts.push_back(part);
    return parts_.parts.size() == writers_;
  }
  /// All parts, in rank order.
  const CheckpointShards& sorted() {
    std::ranges::sort(parts_.parts, {}, &ShardOutcome::rank);
    return parts_;
  }
  /// The checkpoint in progress was written, or has failed. Fills in its pause. The last checkpoint
  /// is written while nothing trains.
  void written(metrics::CheckpointRecord& outcome, Time now) {
    is_writing_ = false;
    const auto paused = std::exchange(paused_, std::nullopt);
    outcome.pause_seconds = paused ? *paused : seconds(now - pause_begin_);
    if (!outcome.parameters_sha256.empty())
      hashed_ = outcome.step;
    saved_ = outcome.step;
    failure_ = outcome.failure;
  }
  /// Whether a checkpoint has waited for the last one.
  bool take_waiting() { return std::exchange(waits_, false); }

  // Numbers of steps.
  std::int64_t saved() const { return saved_; }
  std::int64_t hashed() const { return hashed_; }
  /// Why the newest one was not written.
  const std::optional<Error>& failure() const { return failure_; }

private:
  std::size_t writers_;
  bool is_wanted_, is_writing_ = false, waits_ = false;
  CheckpointShards parts_ = {}, next_ = {}; ///< in progress; results for the next one
  std::int64_t saved_ = -1;                 ///< after which the last one was written
  std::int64_t hashed_ = -1; ///< after which the summary's digest of the parameters was taken
  Time pause_begin_;
  std::optional<double> paused_; ///< seconds of the pause for the checkpoint in progress
  std::optional<Error> failure_;
};

} // namespace troupe::actors
