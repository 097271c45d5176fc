#include "actors/roles/detail/slice_balancer.hpp"

#include <algorithm>

namespace troupe::actors {

namespace {

/// Gap in pass numbers between two slice assignments, so that a batch that was filled ahead for the
/// old one is never taken for one of the new one.
constexpr std::int64_t passes_between = std::int64_t{1} << 20;

/// Returns the time of the slowest rank.
double longest(const std::vector<int>& counts, const std::vector<double>& seconds) {
  double most = 0;
  for (std::size_t rank = 0; rank < counts.size(); ++rank)
    most = std::max(most, counts[rank] * seconds[rank]);
  return most;
}

} // namespace

void SliceBalancer::add(std::int32_t rank, std::chrono::nanoseconds busy) {
  auto& measured = measured_[static_cast<std::size_t>(rank)];
  measured.busy += busy;
  measured.slices += setup_.slice_assignment.slices_of(rank);
}

std::optional<std::int64_t> SliceBalancer::next_look(std::int64_t committed) const {
  if (!setup_.recorded.empty()) {
    const auto next = setup_.recorded.upper_bound(committed);
    return next == setup_.recorded.end() ? std::nullopt : std::optional{next->first};
  }
  return setup_.by_speed ? std::optional{next_look_} : std::nullopt;
}

std::optional<std::vector<int>> SliceBalancer::assign(std::int64_t step) {
  std::optional<std::vector<int>> next;
  if (!setup_.recorded.empty()) {
    next = recorded_at(step);
  } else if (setup_.by_speed && step >= next_look_) {
    next_look_ = step + look_every;
    next = faster();
  }
  if (!next || *next == setup_.slice_assignment.counts())
    return std::nullopt;
  const auto pass = setup_.slice_assignment.pass_of(step) + passes_between;
  setup_.slice_assignment = setup_.slice_assignment.followed_by(*next, step, pass);
  measured_.assign(ranks(), {});
  return next;
}

/// With another number of ranks than recorded, slices stay evenly assigned.
std::optional<std::vector<int>> SliceBalancer::recorded_at(std::int64_t step) const {
  auto found = setup_.recorded.upper_bound(step);
  if (found == setup_.recorded.begin() || (--found)->second.size() != ranks())
    return std::nullopt;
  return found->second;
}

std::optional<std::vector<int>> SliceBalancer::faster() {
  bool all_measured = true;
  for (std::size_t rank = 0; rank < measured_.size(); ++rank) {
    const auto& [busy, slices] = measured_[rank];
    if (slices > 0 && busy.count() > 0)
      seconds_[rank] = std::chrono::duration<double>(busy).count() / static_cast<double>(slices);
    all_measured = all_measured && slices > 0;
  }
  if (std::ranges::count(seconds_, 0) > 0)
    return std::nullopt;
  const auto slices = setup_.slice_assignment.slices();
  if (!all_measured) {
    next_look_ += first_look - look_every;
    return data::balanced_by_speed(slices, seconds_, 1);
  }
  const auto counts = data::balanced_by_speed(slices, seconds_, setup_.least);
  if (longest(counts, seconds_) >
      (1 - least_gain) * longest(setup_.slice_assignment.counts(), seconds_))
    return std::nullopt;
  return counts;
}

} // namespace troupe::actors
