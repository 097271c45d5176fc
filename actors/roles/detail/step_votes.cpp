#include "actors/roles/detail/step_votes.hpp"

#include <algorithm>

namespace troupe::actors {

/// Sums in rank order, as all sums do.
std::optional<training::StepResults> StepVotes::propose(std::int32_t rank, std::int64_t step,
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

bool StepVotes::agree(std::int64_t step) const {
  const auto votes = votes_.find(step);
  return votes != votes_.end() && votes->second >= ranks_;
}

} // namespace troupe::actors
