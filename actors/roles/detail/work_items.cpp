#include "actors/roles/detail/work_items.hpp"

#include <algorithm>
#include <utility>

namespace troupe::actors {

namespace {

double seconds(WorkItems::Clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

} // namespace

std::vector<WorkItems::Assigned> WorkItems::assign(std::int64_t limit, Clock::time_point now) {
  assigner_.grant(limit);
  std::vector<Assigned> assigned;
  for (const auto rank : std::exchange(waiting_, {})) {
    const auto item = assigner_.assign(rank, seconds(now));
    if (!item) {
      waiting_.push_back(rank);
      continue;
    }
    assigned.push_back({rank, *item});
    begun_ = std::max(begun_, item->step + 1);
  }
  return assigned;
}

/// Rounds up: a call a moment too early would find nothing to assign.
std::optional<WorkItems::Clock::time_point> WorkItems::again(Clock::time_point now) const {
  const auto next = assigner_.again(seconds(now));
  if (!next)
    return std::nullopt;
  const std::chrono::duration<double> left{*next - seconds(now)};
  return now + std::chrono::ceil<std::chrono::milliseconds>(left);
}

void WorkItems::complete(std::int32_t rank, const data::WorkItem& item, const WorkerStep& measured,
                         Clock::time_point now) {
  auto& step = steps_[item.step];
  step.longest = std::max(step.longest, assigner_.complete(rank, item, seconds(now)));
  step.measured[rank].add(measured);
}

/// Sums in rank order, as all sums do.
std::optional<StepFound> WorkItems::found(const StepFound& by_rank) {
  auto& all = found_[by_rank.step];
  all.push_back(by_rank);
  if (std::ssize(all) < ranks_)
    return std::nullopt;
  std::ranges::sort(all, {}, &StepFound::rank);
  StepFound sum{.rank = -1, .step = by_rank.step};
  for (const auto& one : all) {
    if (!(one.squared_norm < 0)) // also true for NaN
      sum.squared_norm = std::max(sum.squared_norm, 0.0) + one.squared_norm;
    sum.found_inf = std::max(sum.found_inf, one.found_inf);
  }
  found_.erase(by_rank.step);
  return sum;
}

std::optional<std::int64_t> WorkItems::next_applied() {
  const auto step = assigner_.applied();
  const auto votes = votes_.find(step);
  if (votes == votes_.end() || votes->second < ranks_ || !assigner_.is_complete())
    return std::nullopt;
  votes_.erase(votes);
  assigner_.apply();
  return step;
}

WorkerStep WorkItems::measured(std::int32_t rank, std::int64_t step) {
  auto measured = steps_[step].measured[rank];
  measured.step = step;
  return measured;
}

double WorkItems::longest_item(std::int64_t step) {
  const auto longest = steps_[step].longest;
  steps_.erase(step);
  return longest;
}

} // namespace troupe::actors
