#include "metrics/report/epoch_history.hpp"

#include <algorithm>

namespace troupe::metrics {

void EpochHistory::add(const EpochRecord& epoch) {
  last_.reset();
  if (count_++ % every_ != 0) {
    last_ = epoch;
    return;
  }
  chosen_.push_back(epoch);
  if (chosen_.size() < most_epochs) // leaves room for the last one
    return;
  every_ *= 2;
  for (std::size_t i = 1; 2 * i < chosen_.size(); ++i)
    chosen_[i] = chosen_[2 * i];
  chosen_.erase(chosen_.begin() + most_epochs / 2, chosen_.end());
  last_ = epoch;
}

std::vector<EpochRecord> EpochHistory::epochs() const {
  auto all = chosen_;
  if (last_)
    all.push_back(*last_);
  return all;
}

std::int64_t last_step_of(const EpochRecord& epoch, const RunInfo& run) {
  const auto steps_per_epoch = std::max<std::int64_t>(1, run.steps_per_epoch);
  return epoch.step.value_or(std::min((epoch.epoch + 1) * steps_per_epoch, run.total_steps) - 1);
}

} // namespace troupe::metrics
