#include "data/work_items.hpp"

#include <algorithm>
#include <utility>

namespace troupe::data {

std::vector<WorkItem> WorkItems::assign(double now) {
  std::vector<WorkItem> assigned;
  for (const auto worker : std::exchange(waiting_, {}))
    if (const auto item = next(worker, now))
      assigned.push_back(*item);
    else
      waiting_.push_back(worker);
  return assigned;
}

std::optional<double> WorkItems::again(double now) const {
  std::optional<double> first;
  for (const auto& [worker, end] : wait_ends_)
    if (end > now)
      first = std::min(first.value_or(end), end);
  return first;
}

void WorkItems::complete(const WorkItem& item, double now) {
  ++steps_[index_of(item.step)].complete;
  auto& longest = longest_[item.step];
  longest = std::max(longest, throughput_.complete(item, now));
}

void WorkItems::apply() {
  steps_.pop_front();
  ++applied_;
}

double WorkItems::take_longest(std::int64_t step) {
  const auto longest = longest_.extract(step);
  return longest ? longest.mapped() : 0;
}

/// Number of unassigned slices of an unapplied step.
int WorkItems::left(std::int64_t step) const {
  const auto index = index_of(step);
  return index < steps_.size() ? slices_ - steps_[index].assigned : slices_;
}

/// Returns the worker's next slice; nothing if none is available for it.
std::optional<WorkItem> WorkItems::next(int worker, double now) {
  const auto step = step_for(worker, now);
  if (!step || waits(worker, *step, now))
    return std::nullopt;
  wait_ends_.erase(worker);
  return begin(*step, worker, now);
}

WorkItem WorkItems::begin(std::int64_t step, int worker, double now) {
  const auto index = index_of(step);
  if (index >= steps_.size())
    steps_.resize(index + 1);
  const WorkItem item{step, steps_[index].assigned++, worker};
  begun_ = std::max(begun_, step + 1);
  throughput_.begin(item, now);
  return item;
}

/// Returns the first step for which the worker is not late, or the last step if it is late for all.
std::optional<std::int64_t> WorkItems::step_for(int worker, double now) const {
  std::optional<std::int64_t> last;
  int before = 0;
  for (auto step = applied_; step < limit_; ++step) {
    if (left(step) == 0)
      continue;
    last = step;
    before += left(step);
    if (!is_late(worker, before, now))
      break;
  }
  return last;
}

bool WorkItems::is_late(int worker, int slices, double now) const {
  const auto takes = throughput_.slice(worker);
  return takes && throughput_.free_at(worker, now) + (1 - wait_tolerance_) * *takes >
                      throughput_.end_without(worker, slices, now);
}

bool WorkItems::waits(int worker, std::int64_t step, double now) {
  const auto takes = throughput_.slice(worker);
  const auto end = throughput_.end_of(applied_, now);
  if (step == applied_ || left(applied_) > 0 || !takes || !end)
    return false;
  const auto free = throughput_.free_at(worker, now), most = wait_tolerance_ * *takes;
  if (*end - free >= most)
    return false;
  return now < wait_ends_.try_emplace(worker, free + most).first->second;
}

} // namespace troupe::data
