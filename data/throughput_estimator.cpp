#include "data/throughput_estimator.hpp"

#include <algorithm>

namespace troupe::data {

void ThroughputEstimator::begin(const WorkItem& item, double now) {
  workers_[static_cast<std::size_t>(item.worker)].has.push_back({item, now});
}

bool ThroughputEstimator::has(const WorkItem& item) const {
  return item.worker >= 0 && item.worker < std::ssize(workers_) &&
         std::ranges::count(of(item.worker).has, item, &Held::item) > 0;
}

double ThroughputEstimator::complete(const WorkItem& item, double now) {
  constexpr double newest = 0.3; // weight of the newest value in the moving average
  auto& by = workers_[static_cast<std::size_t>(item.worker)];
  const auto held = std::ranges::find(by.has, item, &Held::item);
  const double since = held->since, took = now - std::max(since, by.last);
  by.slice = by.slice ? *by.slice + newest * (took - *by.slice) : took;
  by.last = now;
  by.has.erase(held);
  return now - since;
}

std::vector<double> ThroughputEstimator::ends(const Worker& worker, double now) {
  std::vector<double> ends;
  double begin = worker.last;
  for (const auto& held : worker.has) {
    begin = std::max(std::max(begin, held.since) + *worker.slice, now);
    ends.push_back(begin);
  }
  return ends;
}

double ThroughputEstimator::free_at(int worker, double now) const {
  const auto& asked = of(worker);
  return asked.has.empty() || !asked.slice ? now : ends(asked, now).back();
}

std::optional<double> ThroughputEstimator::end_of(std::int64_t step, double now) const {
  double last = now;
  for (const auto& worker : workers_)
    for (std::size_t i = 0; i < worker.has.size(); ++i) {
      if (worker.has[i].item.step != step)
        continue;
      if (!worker.slice)
        return std::nullopt;
      last = std::max(last, ends(worker, now)[i]);
    }
  return last;
}

double ThroughputEstimator::end_without(int worker, int slices, double now) const {
  std::vector<std::pair<double, double>>
      next; // by worker: end of one more slice, and seconds per slice
  for (int other = 0; other < std::ssize(workers_); ++other)
    if (const auto takes = slice(other); takes && other != worker)
      next.emplace_back(free_at(other, now) + *takes, *takes);
  if (next.empty())
    return std::numeric_limits<double>::infinity();
  double end = now;
  for (int assigned = 0; assigned < slices; ++assigned) {
    auto& first = *std::ranges::min_element(next);
    end = std::max(end, first.first);
    first.first += first.second;
  }
  return end;
}

} // namespace troupe::data
