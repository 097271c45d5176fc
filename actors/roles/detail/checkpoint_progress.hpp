/// COORDINATOR's checkpoints. Has no actors or clocks.
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
struct CheckpointProgress {
  std::int32_t writers;        ///< number of ranks that write a part
  bool wanted = false;         ///< at any step
  bool writing = false;        ///< a snapshot is being written
  bool due = false;            ///< save again when that one is written
  std::int64_t saved = -1;     ///< number of steps after which the last one was written
  std::int64_t hashed = -1;    ///< number of steps after which the summary's digest was taken
  CheckpointShards parts = {}; ///< of the one in progress
  CheckpointShards next = {};  ///< results for the next one
  std::chrono::steady_clock::time_point pause_begin = {};
  std::optional<double> paused = {}; ///< seconds of the pause for the one in progress
  std::optional<Error> failure = {}; ///< why the newest one was not written

  /// Begins the next one. Returns false if it has to wait for the last one.
  bool begin(std::int64_t step) {
    due = writing;
    if (due)
      return false;
    parts = std::exchange(next, {});
    parts.step = step;
    writing = true;
    return true;
  }
  /// Returns whether it was the last part of the checkpoint in progress.
  bool add(const ShardOutcome& part) {
    if (part.step != parts.step)
      return false;
    parts.parts.push_back(part);
    std::ranges::sort(parts.parts, {}, &ShardOutcome::rank);
    return std::ssize(parts.parts) == writers;
  }
  /// Completes the outcome. The last checkpoint is written while nothing trains.
  void end(metrics::CheckpointRecord& outcome, std::chrono::steady_clock::time_point now) {
    writing = false;
    outcome.pause_seconds = std::exchange(paused, {}).value_or(seconds(now - pause_begin));
    if (!outcome.parameters_sha256.empty())
      hashed = outcome.step;
    saved = outcome.step;
    failure = outcome.failure;
  }
};

} // namespace troupe::actors
