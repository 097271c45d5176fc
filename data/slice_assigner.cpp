#include "data/slice_assigner.hpp"

#include <algorithm>

namespace troupe::data {

SliceAssigner::SliceAssigner(const SliceAssignerOptions& options)
    : wait_tolerance_{options.wait_tolerance}, tracker_{options.slices, options.first_step},
      throughput_{options.workers} {}

std::optional<WorkItem> SliceAssigner::assign(int worker, double now) {
  const auto step = step_for(worker, now);
  if (!step || waits(worker, *step, now))
    return std::nullopt;
  waiting_.erase(worker);
  const auto item = tracker_.assign(*step);
  throughput_.begin(worker, item, now);
  return item;
}

double SliceAssigner::complete(int worker, const WorkItem& item, double now) {
  tracker_.complete(item);
  return throughput_.complete(worker, item, now);
}

/// Returns the first step for which the worker is not late, or the last step if it is late for all.
std::optional<std::int64_t> SliceAssigner::step_for(int worker, double now) const {
  std::optional<std::int64_t> last;
  int before = 0;
  for (auto step = tracker_.applied(); step < tracker_.limit(); ++step) {
    const auto left = tracker_.left(step);
    if (left == 0)
      continue;
    last = step;
    before += left;
    if (!is_late(worker, before, now))
      break;
  }
  return last;
}

bool SliceAssigner::is_late(int worker, int slices, double now) const {
  const auto takes = throughput_.slice(worker);
  return takes && throughput_.free_at(worker, now) + (1 - wait_tolerance_) * *takes >
                      throughput_.end_without(worker, slices, now);
}

bool SliceAssigner::waits(int worker, std::int64_t step, double now) {
  const auto first = tracker_.applied();
  const auto takes = throughput_.slice(worker);
  const auto end = throughput_.end_of(first, now);
  if (step == first || tracker_.left(first) > 0 || !takes || !end)
    return false;
  const auto free = throughput_.free_at(worker, now), most = wait_tolerance_ * *takes;
  if (*end - free >= most)
    return false;
  return now < waiting_.try_emplace(worker, free + most).first->second;
}

std::optional<double> SliceAssigner::again(double now) const {
  std::optional<double> first;
  for (const auto& [worker, until] : waiting_)
    if (until > now)
      first = std::min(first.value_or(until), until);
  return first;
}

} // namespace troupe::data
