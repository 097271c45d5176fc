/// COORDINATOR's side of the two-phase commit of asynchronous steps (ADR 26): the ranks' results of
/// each step, and their votes to apply it.
#pragma once

#include "training/step_results.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

namespace troupe::actors {

class StepVotes {
public:
  explicit StepVotes(std::int32_t ranks) : ranks_{ranks} {}

  /// Adds a rank's results of a step. After the last one, returns the sum over all ranks, in rank
  /// order, as all sums are.
  std::optional<training::StepResults> propose(std::int32_t rank, std::int64_t step,
                                               const training::StepResults& results) {
    results_[step].insert_or_assign(rank, results);
    if (std::ssize(results_[step]) < ranks_)
      return std::nullopt;
    training::StepResults sum;
    const auto by_rank = results_.extract(step);
    for (const auto& [of, one] : by_rank.mapped()) {
      if (!(one.squared_norm < 0)) // also true for NaN
        sum.squared_norm = std::max(sum.squared_norm, 0.0) + one.squared_norm;
      sum.loss_scale.found_inf = std::max(sum.loss_scale.found_inf, one.loss_scale.found_inf);
    }
    return sum;
  }
  /// Counts a rank's vote to apply the step.
  void vote(std::int64_t step) { ++votes_[step]; }
  /// Whether all ranks have voted for the step.
  bool agree(std::int64_t step) const {
    const auto votes = votes_.find(step);
    return votes != votes_.end() && votes->second >= ranks_;
  }
  /// Forgets the votes for the step.
  void close(std::int64_t step) { votes_.erase(step); }

private:
  std::int32_t ranks_;
  /// By step and rank.
  std::map<std::int64_t, std::map<std::int32_t, training::StepResults>> results_;
  std::map<std::int64_t, std::int32_t> votes_; ///< by step
};

} // namespace troupe::actors
