#include "data/slice_balancer.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace troupe::data {

namespace {

/// Returns the time of the slowest rank in a step.
double makespan(const std::vector<int>& counts, const std::vector<double>& seconds) {
  double most = 0;
  for (std::size_t rank = 0; rank < counts.size(); ++rank)
    most = std::max(most, counts[rank] * seconds[rank]);
  return most;
}

} // namespace

SliceBalancer::SliceBalancer(SliceAssignment slice_assignment)
    : slice_assignment_{std::move(slice_assignment)}, measured_(ranks()), seconds_(ranks()) {}

SliceBalancer SliceBalancer::by_speed(SliceAssignment slice_assignment, std::int64_t first_step,
                                      int least) {
  SliceBalancer balancer{std::move(slice_assignment)};
  balancer.next_look_ = first_step + first_look;
  balancer.least_ = least;
  return balancer;
}

SliceBalancer SliceBalancer::replay(SliceAssignment slice_assignment,
                                    std::vector<SliceAssignment> recorded) {
  SliceBalancer balancer{std::move(slice_assignment)};
  balancer.recorded_ = std::move(recorded);
  return balancer;
}

void SliceBalancer::add(int rank, std::chrono::nanoseconds busy) {
  auto& measured = measured_[static_cast<std::size_t>(rank)];
  measured.busy += busy;
  measured.slices += slice_assignment_.slices_of(rank);
}

std::optional<std::int64_t> SliceBalancer::next_look(std::int64_t committed) const {
  const auto next =
      std::ranges::upper_bound(recorded_, committed, {}, &SliceAssignment::first_step);
  return next == recorded_.end() ? next_look_ : next->first_step();
}

std::optional<SliceAssignment> SliceBalancer::next(std::int64_t step) {
  const auto counts = next_counts(step);
  if (!counts || *counts == slice_assignment_.counts())
    return std::nullopt;
  slice_assignment_ = slice_assignment_.followed_by(*counts, step);
  measured_.assign(ranks(), {});
  return slice_assignment_;
}

std::optional<std::vector<int>> SliceBalancer::next_counts(std::int64_t step) {
  if (!next_look_)
    return recorded_at(step);
  if (step < *next_look_)
    return std::nullopt;
  next_look_ = step + look_every;
  return faster();
}

std::optional<std::vector<int>> SliceBalancer::recorded_at(std::int64_t step) const {
  const auto next = std::ranges::upper_bound(recorded_, step, {}, &SliceAssignment::first_step);
  if (next == recorded_.begin() || std::prev(next)->world_size() != slice_assignment_.world_size())
    return std::nullopt;
  return std::prev(next)->counts();
}

/// Returns faster counts. A rank without slices gets one for a few steps, to be measured again.
std::optional<std::vector<int>> SliceBalancer::faster() {
  const bool all_measured = measure();
  if (std::ranges::count(seconds_, 0) > 0)
    return std::nullopt;
  const auto slices = slice_assignment_.slices();
  if (!all_measured) {
    *next_look_ += first_look - look_every;
    return balanced_by_speed(slices, seconds_, 1);
  }
  auto counts = balanced_by_speed(slices, seconds_, least_);
  if (makespan(counts, seconds_) >
      (1 - least_gain) * makespan(slice_assignment_.counts(), seconds_))
    return std::nullopt;
  return counts;
}

/// Updates the seconds of ranks that have had slices. Returns whether all have.
bool SliceBalancer::measure() {
  bool all = true;
  for (std::size_t rank = 0; rank < measured_.size(); ++rank) {
    const auto& [busy, slices] = measured_[rank];
    if (slices > 0 && busy.count() > 0)
      seconds_[rank] = std::chrono::duration<double>(busy).count() / static_cast<double>(slices);
    all = all && slices > 0;
  }
  return all;
}

std::vector<int> balanced_by_speed(int slices, std::span<const double> seconds, int least) {
  std::vector<int> counts(seconds.size(), least);
  counts[0] = 1;
  for (int slice = std::accumulate(counts.begin(), counts.end(), 0); slice < slices; ++slice) {
    const auto done = [&](std::size_t rank) { return (counts[rank] + 1) * seconds[rank]; };
    std::size_t first = 0;
    for (std::size_t rank = 1; rank < seconds.size(); ++rank)
      if (done(rank) < done(first))
        first = rank;
    ++counts[first];
  }
  return counts;
}

} // namespace troupe::data
