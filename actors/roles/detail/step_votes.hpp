/// COORDINATOR's side of the two-phase commit of asynchronous steps (ADR 26): the ranks' results of
/// each step, and their votes to apply it.
#pragma once

#include "training/step_results.hpp"

#include <cstdint>
#include <map>
#include <optional>

namespace troupe::actors {

class StepVotes {
public:
  explicit StepVotes(std::int32_t ranks) : ranks_{ranks} {}

  /// Adds a rank's results of a step. Returns the sum over all ranks after the last one.
  std::optional<training::StepResults> propose(std::int32_t rank, std::int64_t step,
                                               const training::StepResults& results);
  /// Counts a rank's vote to apply the step.
  void vote(std::int64_t step) { ++votes_[step]; }
  /// Whether all ranks have voted for the step.
  bool agree(std::int64_t step) const;
  /// Forgets the votes for the step.
  void close(std::int64_t step) { votes_.erase(step); }

private:
  std::int32_t ranks_;
  /// By step and rank.
  std::map<std::int64_t, std::map<std::int32_t, training::StepResults>> results_;
  std::map<std::int64_t, std::int32_t> votes_; ///< by step
};

} // namespace troupe::actors
